// thread_churn: threads that live for a moment. Each frees what its predecessor left, takes some blocks of its own,
// leaves half of them to its successor and ends. Stresses the setting up and giving back of whatever an allocator keeps
// for a thread, and its memory after thousands of them. Resembles a server with a thread for each connection, and
// t-test1.
#include "workload.h"

namespace workload {
namespace {

constexpr size_t kBlocks = 64;  // of each life

struct Held {
  void* block;
  size_t size;
};

// One thread's life: the first half of `held` comes from the last one, and goes to the next.
void live(Held* held, uint64_t seed, const Options& options) {
  Random random(seed);
  Sampler sampler(options.verify);
  for (size_t i = 0; i < kBlocks / 2; ++i) {
    if (held[i].block != nullptr) sampler.give(held[i].block, held[i].size);
  }
  for (size_t i = 0; i < kBlocks; ++i) {
    held[i].size = options.size != 0 ? options.size : random.log_between(16, 2048);
    held[i].block = take(held[i].size);
  }
  for (size_t i = kBlocks / 2; i < kBlocks; ++i) sampler.give(held[i].block, held[i].size);
}

// Thousands of lives a second.
double run(const Options& options, uint64_t seed) {
  Array<Held> held(kBlocks * options.threads);
  const size_t lives = scaled(options, 6000);
  const double ns = run_threads(options.threads, [&](unsigned t) {
    for (size_t i = 0; i < lives; ++i) {
      std::thread([&] { live(&held[kBlocks * t], seed * 1000 + i * options.threads + t, options); }).join();
    }
  });
  for (unsigned t = 0; t < options.threads; ++t) {
    for (size_t i = 0; i < kBlocks / 2; ++i) std::free(held[kBlocks * t + i].block);
  }
  return static_cast<double>(lives * options.threads) / ns * 1e6;
}

}  // namespace

const Program kProgram = {
    .name = "thread_churn",
    .what =
        R"(Starts thousands of threads, --threads at a time. Each frees 32 blocks that its predecessor left, takes 64, frees
32 and ends. Shows what an allocator sets up for a thread, and whether it gets it back.)",
    .figures = "lives: thousands of threads a second, from start to join; rss: KiB at the end.",
    .sizes = "mixed: 16 to 2048, log-uniform",
    .threads = "threads at a time",
    .defaults = {.threads = 2}};

void measure_all(const Options& options, Report& report) {
  report.measure("lives", "k/s", [&](uint64_t seed) { return run(options, seed); });
  report.add("rss", static_cast<double>(rss_kib()), "KiB");
}

}  // namespace workload
