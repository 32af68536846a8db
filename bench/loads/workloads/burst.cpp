// burst: 1 GiB in blocks of 16–4096 B, all freed, again and again. Stresses giving memory back without paying for it
// each time, in a process of one thread and in one that has others, which sleep. Resident memory at the peak, after the
// frees, after two idle seconds and after malloc_trim; and ms a burst. Resembles a batch job's requests on a server
// that is otherwise idle.
#include "footprint.h"

namespace workload {
namespace {

constexpr unsigned kIdleSeconds = 2;

struct Burst {
  double ms;
  size_t peak_kib;
  size_t after_kib;
};

Burst one_burst(Array<void*>& blocks, size_t bytes, const Options& options, uint64_t seed) {
  Random sizes(seed);
  const double start = now_ns();
  size_t count = 0;
  for (size_t total = 0; total < bytes; ++count) {
    if (count == blocks.size()) fail("the burst has more blocks than foreseen");
    const size_t size = options.size != 0 ? options.size : sizes.between(16, 4096);
    void* const block = std::malloc(size);
    stamp(block, size);
    // Every OS page of it is used.
    if (size > 2048) static_cast<char*>(block)[size - 1] = 1;
    blocks[count] = block;
    total += size;
  }
  const double filled = now_ns();
  const size_t peak = rss_kib();
  const double free_start = now_ns();
  Random again(seed);
  for (size_t i = 0; i < count; ++i) {
    const size_t size = options.size != 0 ? options.size : again.between(16, 4096);
    if (i % options.verify == 0) check_stamp(blocks[i], size);
    std::free(blocks[i]);
  }
  const double end = now_ns();
  return {(filled - start + end - free_start) / 1e6, peak, rss_kib()};
}

void measure_bursts(const Options& options, Report& report) {
  const size_t bytes = scaled(options, double{1u << 30});
  Array<void*> blocks(bytes / (options.size != 0 ? options.size : 1500) + 100'000);
  const size_t base = rss_kib();
  Burst burst = one_burst(blocks, bytes, options, options.seed);
  report.add("first", burst.ms, "ms");
  std::vector<double> repeats;
  repeats.reserve(options.rounds);
  for (unsigned r = 1; r < options.rounds; ++r) {
    burst = one_burst(blocks, bytes, options, options.seed + r);
    repeats.push_back(burst.ms);
  }
  if (!repeats.empty()) report.add_median("repeat", repeats, "ms");
  const double peak = static_cast<double>(burst.peak_kib - base);
  const auto add_left = [&](const std::string& stage, size_t kib) {
    const double left = kib > base ? static_cast<double>(kib - base) : 0;
    report.add(stage, left / 1024, "MiB");
    report.add(stage + "/of_peak", 100 * left / peak, "%");
  };
  report.add("peak", peak / 1024, "MiB");
  add_left("freed", burst.after_kib);
  if (report.wants("idle") || report.wants("idle/of_peak")) {
    sleep(kIdleSeconds);
    std::free(std::malloc(64));  // an idle program does not stop altogether
    add_left("idle", rss_kib());
  }
  if (const Trim trim = find_trim()) trim(0);
  add_left("trimmed", rss_kib());
}

}  // namespace

const Program kProgram = {
    .name = "burst",
    .what =
        R"(Fills 1 GiB in blocks of 16 to 4096 B and frees them all, --rounds times; then idles for two seconds; then calls
malloc_trim, if the allocator has one. Shows whether memory is given back, and what that costs next time.)",
    .figures = R"(first: ms of the first burst; repeat: median of the later ones; peak: MiB of resident memory; freed,
idle, trimmed: MiB left after the last burst, the idle seconds (not waited for unless wanted) and malloc_trim;
the same three with /of_peak: %.)",
    .sizes = "16 to 4096, uniform",
    .threads = "threads of the process; all but one allocate a block and sleep"};

void measure_all(const Options& options, Report& report) {
  const auto allocate_once = [](unsigned) { std::free(std::malloc(64)); };
  run_and_sleep(options.threads - 1, allocate_once, [&](const Footprint&) { measure_bursts(options, report); });
}

}  // namespace workload
