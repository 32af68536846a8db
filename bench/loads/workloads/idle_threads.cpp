// idle_threads: many threads allocate some blocks of mixed sizes, free them, do so again, and sleep with nothing alive.
// Stresses what an allocator keeps for each thread, times the threads. Resembles a server with a thread for each of
// many connections that are quiet most of the time. (sleepers has one thread work after the other.)
#include "footprint.h"

namespace workload {
namespace {

constexpr size_t kBlocks = 200;  // that a thread has at a time
constexpr size_t kCycles = 20;
constexpr unsigned kIdleSeconds = 2;

enum class Stretch { kIdle, kNone };

struct Held {
  void* block;
  size_t size;
};

void cycle(Held* held, Random& random, Sampler& sampler, const Options& options) {
  for (size_t i = 0; i < kBlocks; ++i) {
    held[i].size = options.size != 0 ? options.size : random.log_between(16, 16384);
    held[i].block = take_whole(held[i].size);
  }
  for (size_t i = 0; i < kBlocks; ++i) sampler.give(held[i].block, held[i].size);
}

struct Figures {
  double kept;
  double idle;
  double trimmed;
};

Figures run(Stretch stretch, const Options& options, uint64_t seed) {
  Array<Held> held(kBlocks * options.threads);
  Figures figures{};
  const auto work = [&](unsigned t) {
    Random random(seed * 1000 + t);
    Sampler sampler(options.verify);
    for (size_t left = scaled(options, kCycles); left != 0; --left) cycle(&held[kBlocks * t], random, sampler, options);
  };
  run_and_sleep(options.threads, work, [&](const Footprint& footprint) {
    figures.kept = footprint.kib() / options.threads;
    if (stretch == Stretch::kIdle) sleep(kIdleSeconds);
    std::free(std::malloc(64));  // an idle program does not stop altogether
    figures.idle = footprint.kib() / options.threads;
    trim_heap();
    figures.trimmed = footprint.kib() / options.threads;
  });
  return figures;
}

}  // namespace

const Program kProgram = {
    .name = "idle_threads",
    .what =
        R"(Each of --threads allocates 200 blocks of mixed sizes and frees them, twenty times, and sleeps with nothing alive.
Each round runs in a child process. Shows what an allocator keeps for a thread that has nothing.)",
    .figures =
        R"(kept, idle (two seconds later, not waited for unless wanted), trimmed (after malloc_trim, where the allocator
has one): KiB of anonymous memory for each thread, without its stack and the array of addresses.)",
    .sizes = "mixed: 16 to 16384, log-uniform",
    .threads = "threads that sleep in the end",
    .defaults = {.threads = 200, .rounds = 1}};

void measure_all(const Options& options, Report& report) {
  const Stretch stretch = report.wants("idle") ? Stretch::kIdle : Stretch::kNone;
  const Report::Figure figures[] = {{"kept", "KiB"}, {"idle", "KiB"}, {"trimmed", "KiB"}};
  report.measure(figures, [&](uint64_t seed) {
    const Figures of = in_child([&] { return run(stretch, options, seed); });
    return std::array{of.kept, of.idle, of.trimmed};
  });
}

}  // namespace workload
