// corruption.h: what programs share that write over a heap at random, many times, and look what comes of it. Each time
// the heap reports it by one line and abort(), or nothing comes of it; all else ends the program with the seed.
#pragma once

#include <algorithm>
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>

#include <unistd.h>

namespace snug::corruption {

using Random = std::minstd_rand;

inline uint64_t seed;
inline sigjmp_buf reported;
inline volatile std::sig_atomic_t may_report = 0;  // where is_reported() waits for it

struct Outcome {
  uint64_t reported = 0, harmless = 0;
  void print(const char* of) const {
    std::printf("%s: %llu reported, %llu harmless\n", of, static_cast<unsigned long long>(reported),
                static_cast<unsigned long long>(harmless));
  }
};

[[noreturn]] inline void fail(const char* what) {
  std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed), what);
  std::fflush(stdout);
  _exit(1);
}

inline void on_signal(int number) {
  if (number == SIGABRT && may_report) siglongjmp(reported, 1);
  fail(number == SIGALRM ? "hangs" : number == SIGABRT ? "is reported where nothing is wrong" : "ends in a signal");
}

// Standard error goes to a file, of which each report must be the whole.
inline int report_file() {
  static const int file = fileno(std::tmpfile());
  return file;
}

// Whether the file holds one line that begins so. `forget`: it is empty afterwards.
inline bool holds_one_line(const char* beginning, bool forget) {
  char text[512];
  const size_t least = std::strlen(beginning);
  const ssize_t read = pread(report_file(), text, sizeof text, 0);
  if (forget && (ftruncate(report_file(), 0) != 0 || lseek(report_file(), 0, SEEK_SET) != 0)) fail("no file");
  const size_t length = read > 0 ? static_cast<size_t>(read) : 0;
  if (length <= least || length == sizeof text || text[length - 1] != '\n') return false;
  return std::memcmp(text, beginning, least) == 0 && std::memchr(text, '\n', length) == text + length - 1;
}

// Whether the work is ended by a report, which is one line that begins so. What it had begun stays as it is.
template <class Work>
bool is_reported(const char* beginning, Work work) {
  if (sigsetjmp(reported, 1) == 0) {
    may_report = 1;
    work();
    may_report = 0;
    return false;
  }
  may_report = 0;
  if (!holds_one_line(beginning, true)) fail("is not reported by one line");
  return true;
}

// try_one() for each seed. A heap that hangs is found out.
template <class TryOne>
void for_each_seed(uint64_t first, uint64_t count, TryOne try_one) {
  if (dup2(report_file(), 2) != 2) fail("no standard error");
  for (const int number : {SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGALRM}) std::signal(number, &on_signal);
  for (seed = first; seed != first + count; ++seed) {
    if ((seed - first) % 64 == 0) alarm(600);
    try_one();
  }
}

// Changes up to 16 of the `room` bytes from `start` on: a bit, all to zero, all to any, or the word there to an
// address.
inline void write_over(char* start, size_t room, const void* address, Random& random) {
  const size_t length = std::min<size_t>(1 + random() % 16, room);
  switch (random() % 4) {
    case 0:
      *start = static_cast<char>(*start ^ 1 << random() % 8);
      break;
    case 1:
      std::memset(start, 0, length);
      break;
    case 2: {
      const size_t into_word = reinterpret_cast<uintptr_t>(start) % sizeof address;
      if (room + into_word >= sizeof address) std::memcpy(start - into_word, &address, sizeof address);
      break;
    }
    default:
      for (size_t i = 0; i < length; ++i) start[i] = static_cast<char>(random());
  }
}

// argv[at] as a number.
inline uint64_t argument(int argc, char** argv, int at, uint64_t otherwise) {
  return argc > at ? std::strtoull(argv[at], nullptr, 10) : otherwise;
}

}  // namespace snug::corruption
