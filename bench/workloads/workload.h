// What every workload shares: its options, a clock, a random source, the stamp that verifies contents, and the report.
//
// A workload is one program that calls the plain malloc family, so that any allocator can be preloaded. It prints
// readable rows, then one line of JSON:
//   {"workload":"batches","threads":1,"size":0,"seed":1,"rounds":5,"results":[{"name":"lifo/64","value":9.1,"unit":"ns"}]}
// Of timed rows the value is the median over --rounds. `size` 0 means the workload's own set of sizes.
//
// Nothing here allocates during a timed section, and blocks are kept in memory of mmap, not of the allocator.
#pragma once

#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

#include <sys/mman.h>

namespace workload {

struct Options {
  unsigned threads = 1;
  size_t size = 0;  // bytes; 0 = the workload's own set
  uint64_t seed = 1;
  unsigned rounds = 5;
  double scale = 1;      // of the number of operations
  unsigned verify = 64;  // one block in so many is read back when freed; all are written. 1 = every one
};

[[noreturn]] inline void fail(const char* why) {
  std::fprintf(stderr, "workload failed: %s\n", why);
  std::exit(1);
}

inline Options parse_options(int argc, char** argv, Options options = {}) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (i + 1 == argc) fail("usage: [--threads N] [--size BYTES] [--seed N] [--rounds N] [--scale X] [--verify N]");
    const char* const value = argv[++i];
    if (word == "--threads")
      options.threads = static_cast<unsigned>(std::strtoul(value, nullptr, 0));
    else if (word == "--size")
      options.size = std::strtoull(value, nullptr, 0);
    else if (word == "--seed")
      options.seed = std::strtoull(value, nullptr, 0);
    else if (word == "--rounds")
      options.rounds = static_cast<unsigned>(std::strtoul(value, nullptr, 0));
    else if (word == "--scale")
      options.scale = std::strtod(value, nullptr);
    else if (word == "--verify")
      options.verify = static_cast<unsigned>(std::strtoul(value, nullptr, 0));
    else
      fail("an unknown option");
  }
  if (options.threads == 0 || options.rounds == 0 || options.verify == 0 || options.scale <= 0) fail("an option of 0");
  return options;
}

// At least one.
inline size_t scaled(const Options& options, double count) {
  return std::max<size_t>(1, static_cast<size_t>(count * options.scale));
}

inline double now_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

// xorshift64*: a nanosecond a number, so that the loop's own cost stays small beside the allocator's.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15ull | 1) {}
  uint64_t next() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return (state_ * 0x2545f4914f6cdd1dull) >> 16;
  }
  size_t below(size_t bound) { return static_cast<size_t>((next() & 0xffffffff) * bound >> 32); }
  size_t between(size_t low, size_t high) { return low + below(high - low + 1); }
  // Each doubling of [low, high) as likely as any other, as programs ask; both powers of two.
  size_t log_between(size_t low, size_t high) {
    const unsigned doublings = static_cast<unsigned>(__builtin_ctzll(high) - __builtin_ctzll(low));
    const size_t base = low << below(doublings);
    return base + below(base);
  }

 private:
  uint64_t state_;
};

// An array outside of the heap under test, zeroed.
template <typename T>
class Array {
 public:
  explicit Array(size_t count) : count_(count) {
    void* const memory =
        mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (memory == MAP_FAILED) fail("mmap");
    data_ = static_cast<T*>(memory);
  }
  ~Array() { munmap(data_, count_ * sizeof(T)); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  T& operator[](size_t i) { return data_[i]; }
  T* begin() { return data_; }
  T* end() { return data_ + count_; }
  size_t size() const { return count_; }

 private:
  T* data_;
  size_t count_;
};

template <typename T>
void shuffle(Array<T>& array, Random& random) {
  for (size_t i = array.size(); i > 1; --i) std::swap(array[i - 1], array[random.below(i)]);
}

// Writes what check_stamp() expects into the first word: a function of where the block is and how long.
inline void stamp(void* block, size_t size) {
  if (block == nullptr) fail("out of memory");
  if (size < sizeof(uint64_t)) return;
  const uint64_t word = reinterpret_cast<uintptr_t>(block) ^ size;
  std::memcpy(block, &word, sizeof word);
}

inline void check_stamp(const void* block, size_t size) {
  if (size < sizeof(uint64_t)) return;
  uint64_t word = 0;
  std::memcpy(&word, block, sizeof word);
  if (word != (reinterpret_cast<uintptr_t>(block) ^ size)) fail("a block was damaged");
}

// malloc whose block has been written, and free that reads one block in `verify` back. Reading every block before it is
// freed would bring its line into the cache, and hide what a free that does not touch blocks is worth.
inline void* take(size_t size) {
  void* const block = std::malloc(size);
  stamp(block, size);
  return block;
}

class Sampler {
 public:
  explicit Sampler(unsigned verify) : verify_(verify), left_(verify) {}
  void give(void* block, size_t size) {
    if (--left_ == 0) {
      left_ = verify_;
      check_stamp(block, size);
    }
    std::free(block);
  }

 private:
  unsigned verify_;
  unsigned left_;
};

// malloc_trim of the allocator that serves malloc. Null if it has none: glibc's is found in every process, but it would
// trim a heap that is not in use.
using Trim = int (*)(size_t pad);
Trim find_trim();

// kB of a field of /proc/self/smaps_rollup. Reads with plain system calls: fopen would allocate.
size_t rollup_kib(const char* field);
inline size_t rss_kib() { return rollup_kib("Rss:"); }

class Report {
 public:
  Report(const char* workload, const Options& options) : workload_(workload), options_(options) {}

  void add(const std::string& name, double value, const char* unit) { rows_.push_back({name, value, unit}); }
  void add_median(const std::string& name, std::vector<double> values, const char* unit) {
    std::sort(values.begin(), values.end());
    add(name, values[values.size() / 2], unit);
  }
  // The rows and the JSON line.
  void print() const;

 private:
  struct Row {
    std::string name;
    double value;
    const char* unit;
  };
  const char* workload_;
  Options options_;
  std::vector<Row> rows_;
};

}  // namespace workload
