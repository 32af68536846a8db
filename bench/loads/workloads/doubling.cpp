// doubling: the live bytes stay while the mean size of blocks doubles seven times, victims drawn at random. Then most
// blocks die, and a little traffic goes on. Stresses whether memory that lies in holes between the last small blocks
// goes back before more is taken. Resembles caches with entries that grow as a service does.
#include "workload.h"

namespace workload {
namespace {

constexpr size_t kLiveGoal = 128u << 20;
constexpr size_t kFirstMean = 64;
constexpr unsigned kDoublings = 7;
constexpr double kReplaced = 1.5;  // of the live bytes, at each mean size
constexpr size_t kSurvivorsOneIn = 20;
constexpr double kTrafficSeconds = 2;
constexpr size_t kTrafficMean = 128;
constexpr size_t kTrafficSlots = 1000;

struct Held {
  void* block;
  size_t size;
};

class Blocks {
 public:
  explicit Blocks(const Options& options)
      : options_(options), random_(options.seed), sampler_(options.verify), held_(capacity(options)) {}

  static size_t goal(const Options& options) { return scaled(options, kLiveGoal); }
  static size_t capacity(const Options& options) { return goal(options) / (kFirstMean / 2); }

  // So many bytes come, while others go at random. Returns the steps.
  size_t replace(size_t mean, size_t bytes) {
    size_t steps = 0;
    for (size_t come = 0; come < bytes; ++steps) {
      const size_t size = mean / 2 + random_.below(mean);
      while (live_ + size > goal(options_)) drop(random_.below(count_));
      add(size);
      come += size;
    }
    return steps;
  }
  void drop_down_to(size_t count) {
    while (count_ > count) drop(random_.below(count_));
  }
  size_t count() const { return count_; }
  size_t live() const { return live_; }
  Random& random() { return random_; }

 private:
  void add(size_t size) {
    held_[count_++] = {take_whole(size), size};
    live_ += size;
  }
  void drop(size_t place) {
    sampler_.give(held_[place].block, held_[place].size);
    live_ -= held_[place].size;
    held_[place] = held_[--count_];
  }

  const Options& options_;
  Random random_;
  Sampler sampler_;
  Array<Held> held_;
  size_t count_ = 0;
  size_t live_ = 0;
};

// A few blocks come and go, as in a service that nobody asks much of.
void let_trickle(Random& random) {
  Array<void*> slots(kTrafficSlots);
  for (const double end = now_ns() + kTrafficSeconds * 1e9; now_ns() < end;) {
    for (int i = 0; i < 1000; ++i) {
      void*& slot = slots[random.below(kTrafficSlots)];
      std::free(slot);
      slot = take_whole(kTrafficMean / 2 + random.below(kTrafficMean));
    }
    usleep(1000);
  }
  for (void* slot : slots) std::free(slot);
}

}  // namespace

const Program kProgram = {
    .name = "doubling",
    .what =
        R"(Keeps 128 MiB live while the mean size of what comes doubles from 64 B to 8 KiB; what goes is drawn at random. Then
19 of 20 blocks die, and for two seconds a thousand small blocks come and go. Shows whether memory between the blocks
that are left goes back before more is taken.)",
    .figures =
        R"(steps: millions a second; highest, end, after: MiB of resident memory over that at the start: after the size at
which it was the most, with the largest sizes, and after the traffic at the end; live: MiB in live blocks at the end.)"};

void measure_all(const Options& options, Report& report) {
  Blocks blocks(options);
  const size_t base = rss_kib();
  const auto resident = [&] {
    const size_t now = rss_kib();
    return now > base ? static_cast<double>(now - base) / 1024 : 0;
  };
  size_t steps = blocks.replace(kFirstMean, Blocks::goal(options));
  double highest = 0;
  const double begin = now_ns();
  for (unsigned i = 0; i <= kDoublings; ++i) {
    steps += blocks.replace(kFirstMean << i, static_cast<size_t>(kReplaced * static_cast<double>(blocks.live())));
    highest = std::max(highest, resident());
  }
  report.add("steps", static_cast<double>(steps) / (now_ns() - begin) * 1e3, "M/s");
  report.add("highest", highest, "MiB");
  report.add("end", resident(), "MiB");
  report.add("live", static_cast<double>(blocks.live()) / (1 << 20), "MiB");
  if (report.wants("after")) {
    blocks.drop_down_to(blocks.count() / kSurvivorsOneIn);
    let_trickle(blocks.random());
    report.add("after", resident(), "MiB");
  }
  blocks.drop_down_to(0);
}

}  // namespace workload
