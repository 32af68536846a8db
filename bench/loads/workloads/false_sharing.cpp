// false_sharing: threads write small blocks of their own, over and over. Does the allocator put blocks of two threads
// into one cache line? Actively: each thread takes its block itself. Passively: the main thread takes neighbouring
// blocks and hands one to each thread, which frees it and takes another; an allocator that gives it the same memory
// again has let the line be shared. Resembles Hoard's cache-thrash (active) and cache-scratch (passive).
#include "workload.h"

#include <barrier>

namespace workload {
namespace {

// One life of a block: written so often, as a counter, then checked and freed.
void wear(void* block, size_t size, size_t writes) {
  if (block == nullptr) fail("out of memory");
  // The memory is another thread's line at worst, but this thread's block: the increments need not be atomic.
  auto* const first = static_cast<volatile unsigned char*>(block);
  volatile unsigned char* const last = first + size - 1;
  *first = 0;
  *last = 0;
  for (size_t i = 0; i < writes; ++i) {
    *first = static_cast<unsigned char>(*first + 1);
    *last = static_cast<unsigned char>(*last + 1);
  }
  const auto expected = static_cast<unsigned char>(size == 1 ? 2 * writes : writes);
  if (*first != expected || *last != expected) fail("a block was damaged");
  std::free(block);
}

enum class Sharing { kActive, kPassive };

// Millions of writes a second over all threads.
double run(Sharing sharing, size_t size, const Options& options) {
  constexpr size_t kWrites = 2000;  // to a block
  const size_t lives = scaled(options, 5000);
  std::vector<void*> handed(options.threads, nullptr);
  std::barrier start(static_cast<std::ptrdiff_t>(options.threads));
  if (sharing == Sharing::kPassive) {
    for (void*& block : handed) block = take(size);
  }
  const double ns = run_threads(options.threads, [&](unsigned t) {
    start.arrive_and_wait();
    if (handed[t] != nullptr) {
      check_stamp(handed[t], size);
      std::free(handed[t]);
    }
    start.arrive_and_wait();  // so that nobody has yet filled a cache from elsewhere
    for (size_t i = 0; i < lives; ++i) wear(std::malloc(size), size, kWrites);
  });
  return static_cast<double>(2 * kWrites * lives * options.threads) / ns * 1e3;
}

}  // namespace

const Program kProgram = {
    .name = "false_sharing",
    .what =
        R"(Each thread takes a small block, writes it 4000 times, checks and frees it, over and over. In passive the main
thread first hands each a block, next to the others', which the thread frees. Slow where blocks of two threads come to
lie in one cache line.)",
    .figures = "active/SIZE, passive/SIZE: millions of writes a second, over all threads.",
    .sizes = "8, 40",
    .threads = "threads",
    .defaults = {.threads = 2}};

void measure_all(const Options& options, Report& report) {
  for (const size_t size : options.sizes_or({8, 40})) {
    report.measure("active/" + std::to_string(size), "M/s",
                   [&](uint64_t) { return run(Sharing::kActive, size, options); });
    report.measure("passive/" + std::to_string(size), "M/s",
                   [&](uint64_t) { return run(Sharing::kPassive, size, options); });
  }
}

}  // namespace workload
