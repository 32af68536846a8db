// s2_drift: a store that runs for long, with objects that become larger: what stays resident, against what is
// requested, on the compacting heap and on malloc. S2 has no such table; `snug-seeds S2` shows it beside every peer.
//
// The store holds --bytes of objects all the time, and less than one object more. Each step drops an object by chance
// and stores new ones until it holds its bytes again: mostly one, none where it was smaller than the last new one. A
// size is 16 + X bytes, X exponentially distributed with the mean of the moment less 16, cut off at 16 means. That mean
// goes from
// --from to --to in equal ratios over the first three quarters of the run, and stays there for the last one.
//
// Turns: in the order `sweep` a turn has dropped every object that was there when it began, each at a moment of chance,
// so that after four each object was replaced four times. In the order `chance` any object may be dropped at any time,
// and a turn has stored --bytes: after four, about 2% of the first objects are left, in whatever they keep from being
// free. Every byte of an object is written, three are compared when it is dropped.
#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "replay_heaps.h"
#include "snug/snug.h"
#include "workload.h"

namespace seeds {

const char* const kProgramName = "s2_drift";

namespace {

constexpr const char* kHelp = R"(usage: s2_drift [--OPTION VALUE]...

A store of objects, replaced by chance while their mean size drifts: resident memory against requested bytes, over
time. Prints a row for each point in time, then one line of JSON.

Figures: ratio (resident at the end, by requested), peak_ratio (the most that was resident, by requested), resident,
requested (MiB, at the end), not_full_least and not_full_most (of pages, the share that has a free block, at the end; of
the compacting heap, which counts rows of one to eight pages), ns (a replacement). Of the compacting heap also where
what is resident at the end beyond what is requested lies, each by requested: rounding (up to classes), holes (free
blocks in pages that are not full), tails (ends of pages), spare (its empty pages), handles, records (of pages, with the
way back to handles), and elsewhere: all that the heap does not count as its own, such as pages that its store keeps for
the next. The store's count of these is kept.

  --heap NAME      compact or malloc: whichever malloc is preloaded (default compact)
  --bytes N        requested all the time, with K, M or G (default 256M)
  --from N         mean size at the start in bytes (default 256)
  --to N           at the end (default 2048)
  --turns N        so many times all is replaced (default 4)
  --order NAME     sweep: each object once a turn; chance: any at any time (default sweep)
  --kappa N        pages of a class that may have a free block (default 1)
  --points N       rows (default 40)
  --seed N         (default 1)
  --scale X        of the bytes (default 1)

Exit status: 0, 1 if an object is damaged or memory runs out, 2 wrong usage.
)";

struct Options {
  std::string heap = "compact";
  uint64_t bytes = 256 << 20;
  uint64_t from = 256;
  uint64_t to = 2048;
  uint64_t turns = 4;
  std::string order = "sweep";
  uint64_t kappa = 1;
  uint64_t points = 40;
  uint64_t seed = 1;
  double scale = 1;
};

constexpr double kMostPagesOfRow = 8;  // of the compacting heap
constexpr size_t kLeast = 16;
constexpr uint64_t kLongest = 16;  // means

struct Point {
  double turns;
  double mean;
  uint64_t requested;
  uint64_t resident;
  double not_full;  // rows of pages by pages: the least share of pages that it can be
};

// Bytes of a heap's memory, named.
struct Part {
  const char* name;
  double bytes;
};

// Bytes of the process that are its own, less what it had before there was a heap.
uint64_t own_bytes() {
  const std::optional<size_t> kib = workload::proc_field_kib("/proc/self/smaps_rollup", "Anonymous:");
  if (!kib) fail("no field Anonymous in /proc/self/smaps_rollup");
  return uint64_t{*kib} << 10;
}

class CompactStore {
 public:
  using Name = snug_handle;
  explicit CompactStore(const Options& options) : heap_(create_compact(made(options))) {}
  ~CompactStore() { snug_compact_destroy(heap_); }
  CompactStore(const CompactStore&) = delete;
  CompactStore& operator=(const CompactStore&) = delete;
  Name store(size_t bytes) { return snug_compact_alloc(heap_, bytes, 0); }
  void drop(Name name) { snug_compact_free(heap_, name); }
  void* address(Name name) { return snug_compact_deref(heap_, name); }
  double not_full() const {
    snug_compact_stats now{};
    snug_compact_get_stats(heap_, &now);
    return now.pages == 0 ? 0 : static_cast<double>(now.rows_not_full) / static_cast<double>(now.pages);
  }
  std::vector<Part> parts(const Point& at) const {
    const HeapMemory memory = memory_of(heap_);
    snug_stats store{};
    snug_get_stats(&store);
    const auto bytes = [](uint64_t count) { return static_cast<double>(count); };
    return {{"rounding", bytes(memory.blocks) - bytes(at.requested)},
            {"holes", bytes(memory.not_full)},
            {"tails", bytes(memory.tails)},
            {"spare", bytes(memory.spare)},
            {"handles", bytes(memory.handles)},
            {"records", bytes(memory.records)},
            {"elsewhere", bytes(at.resident) - bytes(memory.total)},
            {"kept", bytes(store.bytes_retained)}};
  }

 private:
  static snug_compact_options made(const Options& options) {
    snug_compact_options wanted{};
    wanted.not_full = options.kappa;
    return wanted;
  }
  snug_compact_heap* heap_;
};

class MallocStore {
 public:
  using Name = void*;
  explicit MallocStore(const Options&) {}
  static Name store(size_t bytes) { return std::malloc(bytes); }
  static void drop(Name name) { std::free(name); }
  static void* address(Name name) { return name; }
  static double not_full() { return 0; }
  static std::vector<Part> parts(const Point&) { return {}; }
};

double next_share(uint64_t& state) {
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return static_cast<double>((state * 0x2545f4914f6cdd1dull) >> 11) * 0x1p-53;
}

template <class Store>
class Drift {
 public:
  explicit Drift(const Options& options)
      : options_(options),
        bytes_(static_cast<uint64_t>(static_cast<double>(options.bytes) * options.scale)),
        state_(options.seed * 0x9e3779b97f4a7c15ull | 1),
        objects_(most_objects(options, bytes_)),
        base_(own_bytes()),
        store_(options) {}

  void run() {
    fill(static_cast<double>(options_.from));
    begin_turn();
    note(0);
    const auto turns = static_cast<double>(options_.turns);
    const double points = static_cast<double>(options_.points) / turns;
    double spent = 0, started = workload::now_ns();
    uint64_t replaced = 0;
    for (double progress = 0; progress < turns; ++replaced) {
      replace(mean_at(progress / turns));
      const double now = turns_done();
      const bool is_point = std::floor(now * points) != std::floor(progress * points);
      progress = now;
      if (!is_point) continue;
      spent += workload::now_ns() - started;
      note(progress);
      started = workload::now_ns();
    }
    ns_ = spent / static_cast<double>(replaced);
    parts_ = store_.parts(points_.back());
    for (size_t at = 0; at < count_; ++at) check(objects_[at]);
  }

  void print() const;

 private:
  struct Object {
    typename Store::Name name;
    uint64_t bytes;
  };

  // Room for twice as many as are expected when they are smallest.
  static size_t most_objects(const Options& options, uint64_t bytes) {
    return 2 * bytes / std::min(options.from, options.to) + 1024;
  }

  double mean_at(double share) const {
    const auto from = static_cast<double>(options_.from), to = static_cast<double>(options_.to);
    return from * std::pow(to / from, std::min(1.0, share / 0.75));
  }

  uint64_t draw(double mean) {
    const double tail = -std::log(1 - next_share(state_)) * (mean - kLeast);
    return kLeast + static_cast<uint64_t>(std::min(tail, mean * kLongest));
  }

  void fill(double mean) {
    while (requested_ < bytes_) add(draw(mean));
  }

  void add(uint64_t bytes) {
    if (count_ == objects_room()) fail("more objects than there is room for: give a larger mean size");
    const typename Store::Name name = store_.store(bytes);
    if (name == typename Store::Name{}) fail("out of memory");
    std::memset(store_.address(name), tag(bytes), bytes);
    objects_[count_++] = {name, bytes};
    requested_ += bytes;
    stored_ += bytes;
  }

  //   objects_[0, old_)  not yet dropped in this turn      objects_[old_, count_)  stored in it
  void begin_turn() {
    old_ = count_;
    old_at_start_ = count_;
  }

  double turns_done() const {
    if (by_chance_) return static_cast<double>(stored_) / static_cast<double>(bytes_);
    return static_cast<double>(sweeps_) + 1 - static_cast<double>(old_) / static_cast<double>(old_at_start_);
  }

  void replace(double mean) {
    const auto victim = static_cast<size_t>(next_share(state_) * static_cast<double>(by_chance_ ? count_ : old_));
    const Object gone = objects_[victim];
    check(gone);
    store_.drop(gone.name);
    requested_ -= gone.bytes;
    if (by_chance_) {
      objects_[victim] = objects_[--count_];
    } else {
      objects_[victim] = objects_[--old_];
      objects_[old_] = objects_[--count_];
    }
    fill(mean);
    if (by_chance_ || old_ != 0) return;
    ++sweeps_;
    begin_turn();
  }

  static int tag(uint64_t bytes) { return static_cast<int>(bytes * 37 >> 3 & 0xff); }

  void check(const Object& object) {
    const auto* const block = static_cast<const unsigned char*>(store_.address(object.name));
    const auto expected = static_cast<unsigned char>(tag(object.bytes));
    if (block[0] != expected || block[object.bytes / 2] != expected || block[object.bytes - 1] != expected)
      fail("an object of " + std::to_string(object.bytes) + " bytes was damaged");
  }

  size_t objects_room() const { return most_objects(options_, bytes_); }

  void note(double turns) {
    const uint64_t own = own_bytes();
    points_.push_back({turns, static_cast<double>(requested_) / static_cast<double>(count_), requested_,
                       own > base_ ? own - base_ : 0, store_.not_full()});
    if (turns == 0) stored_ = 0;
  }

  const Options& options_;
  const uint64_t bytes_;
  uint64_t state_;
  SlotTable<Object> objects_;
  std::vector<Point> points_;
  uint64_t base_;
  Store store_;
  const bool by_chance_ = options_.order == "chance";
  size_t count_ = 0;
  size_t old_ = 0;
  size_t old_at_start_ = 0;
  uint64_t sweeps_ = 0;
  uint64_t requested_ = 0;
  uint64_t stored_ = 0;  // since the first turn began
  double ns_ = 0;
  std::vector<Part> parts_;  // at the last point
};

double ratio(const Point& point) { return static_cast<double>(point.resident) / static_cast<double>(point.requested); }

template <class Store>
void Drift<Store>::print() const {
  constexpr double kMebi = 1 << 20;
  std::printf("%8s %10s %14s %14s %8s %10s\n", "turns", "mean", "requested MiB", "resident MiB", "ratio", "not full");
  double peak = 0;
  for (const Point& point : points_) {
    std::printf("%8.2f %10.0f %14.1f %14.1f %8.3f %9.2f%%\n", point.turns, point.mean,
                static_cast<double>(point.requested) / kMebi, static_cast<double>(point.resident) / kMebi, ratio(point),
                100 * point.not_full);
    peak = std::max(peak, static_cast<double>(point.resident) / static_cast<double>(point.requested));
  }
  const Point& end = points_.back();
  std::printf("{\"workload\":\"%s\",\"heap\":\"%s\",\"bytes\":%llu,\"seed\":%llu,\"series\":[", kProgramName,
              options_.heap.c_str(), static_cast<unsigned long long>(bytes_),
              static_cast<unsigned long long>(options_.seed));
  const char* separator = "";
  for (const Point& point : points_) {
    std::printf("%s[%.3f,%llu,%llu,%.5f]", separator, point.turns, static_cast<unsigned long long>(point.requested),
                static_cast<unsigned long long>(point.resident), point.not_full);
    separator = ",";
  }
  std::printf("],\"results\":[");
  const auto figure = [&](const char* name, double value, const char* unit, const char* after) {
    std::printf("{\"name\":\"%s\",\"value\":%.5f,\"unit\":\"%s\"}%s", name, value, unit, after);
  };
  figure("ratio", ratio(end), "1", ",");
  figure("peak_ratio", peak, "1", ",");
  figure("resident", static_cast<double>(end.resident) / kMebi, "MiB", ",");
  figure("requested", static_cast<double>(end.requested) / kMebi, "MiB", ",");
  if (options_.heap == "compact") {
    figure("not_full_least", end.not_full, "1", ",");
    figure("not_full_most", std::min(1.0, kMostPagesOfRow * end.not_full), "1", ",");
  }
  for (const Part& part : parts_) figure(part.name, part.bytes / static_cast<double>(end.requested), "1", ",");
  figure("ns", ns_, "ns", "");
  std::printf("]}\n");
}

template <class Store>
void run(const Options& options) {
  Drift<Store> drift(options);
  drift.run();
  drift.print();
}

Options parse(int argc, char** argv) {
  Options options;
  for_each_argument(argc, argv, kHelp, [&](const std::string& word, auto next) {
    if (word == "--heap")
      options.heap = next();
    else if (word == "--bytes")
      options.bytes = number(word, next(), 1 << 20, uint64_t{1} << 40);
    else if (word == "--from")
      options.from = number(word, next(), 2 * kLeast, 1 << 20);
    else if (word == "--to")
      options.to = number(word, next(), 2 * kLeast, 1 << 20);
    else if (word == "--turns")
      options.turns = number(word, next(), 1, 1000);
    else if (word == "--order")
      options.order = next();
    else if (word == "--kappa")
      options.kappa = number(word, next(), 1, uint64_t{1} << 32);
    else if (word == "--points")
      options.points = number(word, next(), 1, 1000);
    else if (word == "--seed")
      options.seed = number(word, next(), 0, UINT64_MAX);
    else if (word == "--rounds")
      number(word, next(), 1, 1);  // the harness says so to every program
    else if (word == "--scale")
      options.scale = fraction(word, next());
    else
      refuse("unknown option '" + word + "'");
  });
  if (options.heap != "compact" && options.heap != "malloc")
    refuse("--heap: '" + options.heap + "' is neither compact nor malloc");
  if (options.order != "sweep" && options.order != "chance")
    refuse("--order: '" + options.order + "' is neither sweep nor chance");
  return options;
}

}  // namespace
}  // namespace seeds

int main(int argc, char** argv) {
  const seeds::Options options = seeds::parse(argc, argv);
  if (options.heap == "compact")
    seeds::run<seeds::CompactStore>(options);
  else
    seeds::run<seeds::MallocStore>(options);
}
