// What of the program's memory the OS holds at the moment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "os/input_file.h"

namespace snug::os {

// The kernel's word for each OS page of the process, for who has many to look at: one file, opened once.
class PageMap {
 public:
  // How many pages it reads at once: those of 2 MiB.
  static constexpr size_t kMostAtOnce = 512;

  // Not mincore(), for which filters of system calls end the process that live well with files (docs/decisions/0025).
  // And not of `self`, which is nobody once the main thread has left.
  PageMap() : file_("/proc/thread-self/pagemap") {}

  // Writes a bit for each of the `count` pages (kMostAtOnce at most) from the address on that is in memory, and adds
  // those in swap to *swapped. False if the OS does not say. Where a page was only read, the kernel lends one of zeros
  // that it counts nowhere and says is in memory. It is no page of the process's own; but neither are those that a
  // process has in common with its parent or child: `has_forked` counts all.
  bool read(uintptr_t start, size_t count, bool has_forked, uint64_t (&in_memory)[kMostAtOnce / 64], uint64_t* swapped);
  int error() const { return file_.error(); }

  // The words of the pages from the address on; returns how many there are.
  size_t read_words(uintptr_t start, uint64_t* words, size_t most);

 private:
  InputFile file_;
};

// How many OS pages of the range are in memory or in swap: those that were touched and not given back since. Nothing if
// the OS does not say, and is not asked again then. Opens a file for the time of the call: five times as dear as a
// system call, as a rule. Thread-safe, allocates nothing, leaves errno alone.
std::optional<size_t> held_pages(const void* start, size_t bytes);

}  // namespace snug::os
