// migrating: threads work in rounds. A thread allocates objects, passes some through shared slots to the next thread
// there, and puts the others, and some of what it got, in its set, where they live for rounds; what it replaces there
// it frees. In each round the threads are new ones, which go on with the sets of those before, or the same. Stresses
// blocks that outlive their thread in other threads' hands. Resembles mimalloc-bench's mstress.
#include "footprint.h"
#include "slots.h"

#include <barrier>

namespace workload {
namespace {

constexpr unsigned kRounds = 20;
constexpr size_t kSet = 10'000;    // objects of a thread, about
constexpr size_t kSlots = 4096;    // of all threads
constexpr size_t kStretch = 1000;  // objects between two yields

enum class Threads { kNew, kSame };

struct Figures {
  double ns;
  double rss;
};

struct World {
  Array<Slot> slots{kSlots};
  Array<Sized> sets;
};

void work(World& world, Sized* set, size_t objects, uint64_t seed, const Options& options) {
  Random random(seed);
  Sampler sampler(options.verify);
  for (; objects != 0; --objects) {
    Sized object = Sized::take(options.size != 0 ? options.size : random.log_between(16, 2048));
    const uint64_t chance = random.next() % 4;
    if (chance < 2) object = world.slots[random.below(kSlots)].exchange(object);
    if (chance != 1) std::swap(object, set[random.below(kSet)]);
    object.give(sampler);
    if (objects % kStretch == 0) std::this_thread::yield();  // so that threads that share a processor mix as well
  }
}

Figures run(Threads kind, const Options& options, uint64_t seed) {
  World world{.sets = Array<Sized>(kSet * options.threads)};
  const size_t objects = scaled(options, 50'000);  // of a thread in a round
  const Footprint footprint;
  const auto round = [&](unsigned t, unsigned r) {
    work(world, &world.sets[kSet * t], objects, (seed * kRounds + r) * 1000 + t, options);
  };
  const double start = now_ns();
  if (kind == Threads::kNew) {
    for (unsigned r = 0; r < kRounds; ++r) run_threads(options.threads, [&](unsigned t) { round(t, r); });
  } else {
    std::barrier together(
        static_cast<std::ptrdiff_t>(options.threads));  // else one might be done before another begins
    run_threads(options.threads, [&](unsigned t) {
      for (unsigned r = 0; r < kRounds; ++r) {
        round(t, r);
        together.arrive_and_wait();
      }
    });
  }
  const double ns = now_ns() - start;
  const Figures figures = {ns / static_cast<double>(objects * kRounds * options.threads), footprint.mib()};
  Sampler sampler(options.verify);
  for (const Sized object : world.sets) object.give(sampler);
  for (Slot& slot : world.slots) slot.load().give(sampler);
  return figures;
}

}  // namespace

const Program kProgram = {
    .name = "migrating",
    .what =
        R"(Threads allocate objects of mixed sizes in 20 rounds. One half they swap into shared slots, and free one half of
what comes out; all others replace random ones in the thread's set of 10,000, which it frees. In each round the
threads are new ones that take the sets over, or the same. Each measurement runs in a child process. Shows blocks
that live for long with a thread that did not make them.)",
    .figures =
        R"(new/object, same/object: ns an object over all threads; new/rss, same/rss: MiB of anonymous memory when the
threads have ended, while sets and slots are full, without the arrays of addresses.)",
    .sizes = "mixed: 16 to 2048, log-uniform",
    .threads = "threads at a time",
    .defaults = {.threads = 2, .rounds = 3}};

void measure_all(const Options& options, Report& report) {
  for (const auto& [name, kind] : {std::pair<std::string, Threads>{"new/", Threads::kNew}, {"same/", Threads::kSame}}) {
    const Report::Figure figures[] = {{name + "object", "ns"}, {name + "rss", "MiB"}};
    report.measure(figures, [&](uint64_t seed) {
      const Figures of = in_child([&] { return run(kind, options, seed); });
      return std::array{of.ns, of.rss};
    });
  }
}

}  // namespace workload
