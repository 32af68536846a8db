// size_drift: a long run with the same number of live bytes and with sizes that drift: a range of sizes moves from
// small to large and back, while most blocks are replaced soon and a few live through whole epochs. Stresses whether
// memory of sizes that went out of use comes back into use, with long-lived blocks strewn over it. Resembles servers
// that grow over weeks, and rptest's phases stretched out.
#include "workload.h"

#include <memory>

namespace workload {
namespace {

constexpr size_t kSlots = 40'000;  // of each thread
constexpr unsigned kEpochs = 16;   // half of them up, half of them down
constexpr size_t kLowest = 16;
constexpr size_t kWindow = 8;  // the largest size over the smallest one
constexpr size_t kOldOneIn = 50;
constexpr size_t kLiveGoal = 24u << 20;  // of each thread

struct Held {
  void* block;
  size_t size;
};

class Drift {
 public:
  Drift(const Options& options, uint64_t seed)
      : options_(options), random_(seed), sampler_(options.verify), slots_(kSlots) {}

  // One epoch. Returns its steps.
  size_t run(unsigned epoch) {
    const unsigned height = epoch < kEpochs / 2 ? epoch : kEpochs - 1 - epoch;
    const size_t low = kLowest << height;
    const size_t steps = scaled(options_, 150'000);
    for (size_t i = 0; i < steps; ++i) {
      const size_t slot = random_.below(kSlots);
      // Every fiftieth slot is let alone for most of the time: what lies there gets old.
      if (slot % kOldOneIn == 0 && random_.below(64) != 0) continue;
      clear(slots_[slot]);
      const size_t size = options_.size != 0 ? options_.size : random_.log_between(low, low * kWindow);
      if (live_ + size <= kLiveGoal) fill(slots_[slot], size);
    }
    return steps;
  }

  void end() {
    for (Held& held : slots_) clear(held);
  }
  size_t live() const { return live_; }

 private:
  void fill(Held& held, size_t size) {
    held = {take_whole(size), size};
    live_ += size;
  }
  void clear(Held& held) {
    if (held.block == nullptr) return;
    sampler_.give(held.block, held.size);
    live_ -= held.size;
    held = {nullptr, 0};
  }

  const Options& options_;
  Random random_;
  Sampler sampler_;
  Array<Held> slots_;
  size_t live_ = 0;
};

}  // namespace

const Program kProgram = {
    .name = "size_drift",
    .what =
        R"(Replaces random blocks of up to 24 MiB a thread while a window of sizes moves from 16…128 B to 2…16 KiB and back,
in 16 epochs; every fiftieth place is seldom replaced. Shows whether the memory of sizes that went out of use is used
again, by the memory over the live bytes.)",
    .figures =
        R"(steps: millions a second over all threads; rss/top, rss/end, rss/most: MB of resident memory over that at the
start with the largest sizes, at the end, and at the most after any epoch; live/top, live/end: MB in live blocks.)",
    .sizes = "the drifting window, log-uniform",
    .threads = "threads that do the same, each with blocks of its own"};

void measure_all(const Options& options, Report& report) {
  std::vector<std::unique_ptr<Drift>> drifts;
  for (unsigned t = 0; t < options.threads; ++t)
    drifts.push_back(std::make_unique<Drift>(options, options.seed * 100 + t));
  const auto live = [&] {
    size_t total = 0;
    for (const auto& drift : drifts) total += drift->live();
    return static_cast<double>(total) / 1e6;
  };
  const size_t base = rss_kib();
  const auto resident = [&] {
    const size_t now = rss_kib();
    return now > base ? static_cast<double>(now - base) * 1024 / 1e6 : 0;
  };
  std::vector<size_t> steps(options.threads);
  double ns = 0;
  double most = 0;
  for (unsigned epoch = 0; epoch < kEpochs; ++epoch) {
    // Threads of their own in each epoch: what a thread's heap keeps has to find its way to the next one.
    ns += run_threads(options.threads, [&](unsigned t) { steps[t] += drifts[t]->run(epoch); });
    most = std::max(most, resident());
    if (epoch == kEpochs / 2 - 1) {
      report.add("rss/top", resident(), "MB");
      report.add("live/top", live(), "MB");
    }
  }
  size_t total = 0;
  for (const size_t each : steps) total += each;
  report.add("steps", static_cast<double>(total) / ns * 1e3, "M/s");
  report.add("rss/end", resident(), "MB");
  report.add("live/end", live(), "MB");
  report.add("rss/most", most, "MB");
  for (const auto& drift : drifts) drift->end();
}

}  // namespace workload
