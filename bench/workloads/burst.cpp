// burst: 1 GiB in blocks of 16–4096 B, all freed, again and again. Stresses giving memory back without paying for it
// each time. Resident memory at the peak, after the frees, after two idle seconds and after malloc_trim, as % of the
// peak; and ms a burst. Resembles a batch job's requests on a server that is otherwise idle.
#include "workload.h"

#include <unistd.h>

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

void run(const Options& options, Report& report) {
  const size_t bytes = scaled(options, double{1u << 30});
  Array<void*> blocks(bytes / (options.size != 0 ? options.size : 1500) + 100'000);
  const size_t base = rss_kib();
  std::vector<double> ms;
  ms.reserve(options.rounds);
  Burst burst{};
  for (unsigned r = 0; r < options.rounds; ++r) {
    burst = one_burst(blocks, bytes, options, options.seed + r);
    ms.push_back(burst.ms);
  }
  const auto percent = [&](size_t kib) {
    return kib > base ? 100.0 * static_cast<double>(kib - base) / static_cast<double>(burst.peak_kib - base) : 0;
  };
  report.add("first", ms.front(), "ms");
  report.add_median("each", ms, "ms");
  report.add("peak", static_cast<double>(burst.peak_kib - base) / 1024, "MiB");
  report.add("freed/of_peak", percent(burst.after_kib), "%");
  sleep(kIdleSeconds);
  std::free(std::malloc(64));  // an idle program does not stop altogether
  report.add("idle/of_peak", percent(rss_kib()), "%");
  if (const Trim trim = find_trim()) {
    trim(0);
    report.add("trimmed/of_peak", percent(rss_kib()), "%");
  }
}

}  // namespace
}  // namespace workload

int main(int argc, char** argv) {
  using namespace workload;
  const Options options = parse_options(argc, argv);
  Report report("burst", options);
  run(options, report);
  report.print();
}
