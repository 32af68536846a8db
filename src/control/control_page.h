// ControlPage: memory that a process with publish:on shares with tools of the same user, so that they can ask it. The
// kernel's rules for /proc/PID/fd say which tools these are.
//
//   page 0     which process it is, the request, and counts of requests and answers
//   page 1 …   the answer
//
// A tool finds it among the process's open files by its name, locks it (flock), writes its request, adds 1 to
// `requests` and wakes that word; then it waits until `answers` is equal to it. The lock goes with the tool. What a
// tool writes may be anything: the process reads each word once, and checks it (allocator/control_answers.cpp refuses
// what is no command). A tool checks what a process has written in tools/live/live_process.cpp. The memory cannot be
// made shorter.
//
// The format is for tools of the same version; `version` changes with it.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"

namespace snug {

enum class ControlCommand : uint32_t {
  // JSON, one object (docs/running-process.md), of the figures in allocator/figures.h; with the word "memory", where
  // each byte is. Where a new figure goes: docs/questions.md; `version` stays for it.
  kStatistics,
  kSettings,      // lines "key TAB value TAB origin TAB 1 if it may be changed"
  kSet,           // the words are key:value
  kPurge,         // gives back all that can go, as malloc_trim(0)
  kProfileStart,  // the words are the distance in bytes
  kProfileStop,
  kProfileWrite,  // pprof's format
  kAddress,       // what lies at the address in the words: JSON, one object
};

struct ControlPage {
  static constexpr char kName[] = "snug-control";
  static constexpr uint64_t kMagic = 0x314c544347554e53;  // "SNUGCTL1"
  static constexpr uint32_t kVersion = 2;
  static constexpr size_t kHeaderBytes = 4096;
  static constexpr size_t kBytes = size_t{8} << 20;  // of which only what is written takes memory
  static constexpr size_t kMostAnswer = kBytes - kHeaderBytes;

  static constexpr uint32_t kNudge = uint32_t{1} << 31;
  static constexpr uint32_t count_of(uint32_t word) { return word & (kNudge - 1); }

  uint64_t magic;
  uint32_t version;
  uint32_t pid;  // as the process itself knows it, written last
  // Counts modulo 2^31. The process changes the bit above to wake its own thread.
  Atomic<uint32_t> requests;
  Atomic<uint32_t> answers;
  Atomic<uint32_t> command;
  // Of the answer: 0 or an errno number, and its length.
  Atomic<uint32_t> error;
  Atomic<uint32_t> length;
  char words[256];  // of the request, ended by a 0
};
static_assert(sizeof(ControlPage) <= ControlPage::kHeaderBytes);

}  // namespace snug
