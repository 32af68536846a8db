// Which pages of the program the OS holds in memory or swap at the moment.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "os/input_file.h"

namespace snug::os {

// The kernel's word for each OS page of the process, to look at many pages: one file, opened once.
class PageMap {
 public:
  // How many pages it reads at once: those of 2 MiB.
  static constexpr size_t kMostAtOnce = 512;

  // Not mincore(), for which some filters of system calls end the process though they allow files
  // (docs/decisions/0025). And not /proc/self, which names no thread once the main thread has ended.
  PageMap() : file_("/proc/thread-self/pagemap") {}

  // Sets a bit for each of the `count` pages (kMostAtOnce at most) from the address on that is in memory, and adds the
  // number of those in swap to *swapped. False if the OS does not say. For a page that was only read, the kernel maps
  // the common zero page, which it reports as in memory but counts nowhere: a page that is not exclusive to the process
  // does not count. With `has_forked` it does, as a process shares pages with its parent or child.
  bool read(uintptr_t start, size_t count, bool has_forked, uint64_t (&in_memory)[kMostAtOnce / 64], uint64_t* swapped);

  // The words of the pages from the address on; returns how many there are.
  size_t read_words(uintptr_t start, uint64_t* words, size_t most);

 private:
  InputFile file_;
};

}  // namespace snug::os
