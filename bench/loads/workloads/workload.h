// What every workload shares: what it says of itself, its options, a clock, a random source, the stamp that verifies
// contents, threads and child processes, and the report.
//
// A workload is one program that calls the plain malloc family, so that any allocator can be preloaded. It prints
// readable rows, then one line of JSON:
//   {"workload":"batches","threads":1,"size":0,"seed":1,"rounds":5,"results":[{"name":"lifo/64","value":9.1,"unit":"ns"}]}
// and writes the same figures to the file $SNUG_FIGURES, for `snug run --compare`.
// Of timed rows the value is the median over --rounds. `size` 0 means the workload's own set of sizes.
//
// A workload defines kProgram and measure_all(); main() is here.
//
// Nothing here allocates during a timed section, and blocks are kept in memory of mmap, not of the allocator.
#pragma once

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <initializer_list>
#include <string>
#include <thread>
#include <vector>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace workload {

struct Options {
  unsigned threads = 1;
  size_t size = 0;  // bytes; 0 = the workload's own set
  uint64_t seed = 1;
  unsigned rounds = 5;
  double scale = 1;      // of the number of operations
  unsigned verify = 64;  // one block in so many is read back when freed; all are written. 1 = every one
  const char* only =
      "*";  // patterns of the figures that are wanted; not a string, which would allocate before the start

  // The one size asked for, or else the workload's own.
  std::vector<size_t> sizes_or(std::initializer_list<size_t> own) const {
    return size != 0 ? std::vector<size_t>{size} : std::vector<size_t>(own);
  }
};

// What a workload is, for --help.
struct Program {
  const char* name;
  const char* what;               // some sentences
  const char* figures;            // their names and units
  const char* sizes = nullptr;    // what --size is by default; null: it has no effect
  const char* threads = nullptr;  // what --threads counts; null: it has no effect
  Options defaults = {};
};

// Ends the program with one line.
[[noreturn]] void fail(const char* why);

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

// malloc that writes the block, and free that reads one block in `verify` back. Reading every block before it is freed
// would bring its line into the cache, and hide what a free that does not touch blocks is worth.
inline void* take(size_t size) {
  void* const block = std::malloc(size);
  stamp(block, size);
  return block;
}

// The same, with every OS page of the block written: memory that the program has, and the figures of memory show.
inline void* take_whole(size_t size) {
  constexpr size_t kOsPage = 4096;
  void* const block = take(size);
  for (size_t at = kOsPage; at < size; at += kOsPage) static_cast<char*>(block)[at] = 1;
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

// Runs work(0) … work(count - 1), each in a thread of its own. ns from the first one's start to the last one's end.
template <typename Work>
double run_threads(unsigned count, Work&& work) {
  std::vector<std::thread> threads;
  threads.reserve(count);
  const double start = now_ns();
  for (unsigned t = 0; t < count; ++t) threads.emplace_back([&work, t] { work(t); });
  for (std::thread& thread : threads) thread.join();
  return now_ns() - start;
}

// The average of what work(0) … work(count - 1) return at the same time. The caller is the first of the threads: its
// heap is not always like those of others.
template <typename Work>
double average_of_threads(unsigned count, Work&& work) {
  std::vector<double> each(count);
  std::vector<std::thread> threads;
  threads.reserve(count);
  for (unsigned t = 1; t < count; ++t) threads.emplace_back([&, t] { each[t] = work(t); });
  each[0] = work(0);
  for (std::thread& thread : threads) thread.join();
  double sum = 0;
  for (const double value : each) sum += value;
  return sum / count;
}

// What work() returns (no pointers in it), run in a child process: so each round starts from the same heap, and what it
// leaves behind is gone.
template <typename Work>
auto in_child(Work&& work) {
  using Result = decltype(work());
  void* const shared = mmap(nullptr, sizeof(Result), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) fail("mmap");
  auto* const result = static_cast<Result*>(shared);
  const pid_t child = fork();
  if (child == 0) {
    *result = work();
    std::exit(0);  // in the ordinary way, so that an allocator reports on this process too
  }
  int status = 1;
  if (child < 0 || waitpid(child, &status, 0) < 0 || status != 0) fail("the measured child failed");
  const Result copy = *result;
  munmap(shared, sizeof(Result));
  return copy;
}

// malloc_trim of the allocator that serves malloc. Null if it has none: glibc's is found in every process, but it would
// trim a heap that is not in use.
using Trim = int (*)(size_t pad);
Trim find_trim();

// kB of a field of /proc/self/smaps_rollup. Reads with plain system calls: fopen would allocate.
size_t rollup_kib(const char* field);
inline size_t rss_kib() { return rollup_kib("Rss:"); }
// Of that what is the process's own, files apart: the kernel maps code of libraries by 64 KiB as it is first run.
inline size_t anonymous_kib() { return rollup_kib("Anonymous:"); }

// The figures, each with a unit: less is better, but of those a second ("M/s").
class Report {
 public:
  struct Figure {
    std::string name;
    const char* unit;
  };

  explicit Report(const Options& options) : options_(options) {}

  // Whether --only lets the figure through. What nobody wants need not be measured.
  bool wants(const std::string& name) const;

  // The figures that are not wanted are left out.
  void add(const std::string& name, double value, const char* unit) {
    if (wants(name)) rows_.push_back({{name, unit}, value});
  }

  // Runs round(seed) --rounds times, each with a seed of its own, and adds the median of what it returns.
  template <typename Round>
  void measure(const std::string& name, const char* unit, Round&& round) {
    const Figure figures[] = {{name, unit}};
    measure(figures, [&](uint64_t seed) { return std::array<double, 1>{round(seed)}; });
  }

  // The same for rounds that tell several figures, as a std::array.
  template <size_t N, typename Round>
  void measure(const Figure (&figures)[N], Round&& round) {
    if (std::none_of(figures, figures + N, [this](const Figure& figure) { return wants(figure.name); })) return;
    std::array<std::vector<double>, N> values;
    for (std::vector<double>& each : values) each.reserve(options_.rounds);
    for (unsigned r = 0; r < options_.rounds; ++r) {
      const std::array<double, N> result = round(options_.seed + r);
      for (size_t i = 0; i < N; ++i) values[i].push_back(result[i]);
    }
    for (size_t i = 0; i < N; ++i) add_median(figures[i].name, values[i], figures[i].unit);
  }

  void add_median(const std::string& name, std::vector<double> values, const char* unit) {
    std::sort(values.begin(), values.end());
    add(name, values[values.size() / 2], unit);
  }

  // The rows, the JSON line and $SNUG_FIGURES.
  void print() const;

 private:
  struct Row {
    Figure figure;
    double value;
  };
  void write_figures(const char* path) const;

  const Options& options_;
  std::vector<Row> rows_;
};

// What every workload defines.
extern const Program kProgram;
void measure_all(const Options& options, Report& report);

}  // namespace workload
