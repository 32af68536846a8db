// fragmentation: 2 million blocks of 16–512 B, 90% freed at random, malloc_trim if the allocator has one, then as many
// bytes again in 600 B blocks. Stresses what sparse slabs hold back and whether other sizes can use it. The resident
// memory at each stage is the figure. Resembles Redis after a mass deletion, and Mesh's motivating example.
#include "workload.h"

namespace workload {
namespace {

constexpr size_t kRefillSize = 600;

struct Held {
  void* block;
  uint32_t size;
};

void* fill_block(size_t size) {
  void* const block = std::malloc(size);
  if (block == nullptr) fail("out of memory");
  std::memset(block, 0x11, size);
  stamp(block, size);
  return block;
}

double mb(size_t kib, size_t base_kib) { return kib > base_kib ? static_cast<double>(kib - base_kib) * 1024 / 1e6 : 0; }

}  // namespace

const Program kProgram = {
    .name = "fragmentation",
    .what =
        R"(Fills 2 million blocks of 16 to 512 B, frees 90% of them at random, calls malloc_trim if the allocator has one,
then fills as many bytes again in blocks of 600 B. Shows what sparse slabs hold back, and whether other sizes
can use it.)",
    .figures =
        R"(STAGE/rss for full, freed, trimmed, refilled: MB of resident memory over that at the start; STAGE/live:
MB in live blocks; fill: ms; free, refill: ns a block; trim: ms.)",
    .sizes = "16 to 512, uniform"};

void measure_all(const Options& options, Report& report) {
  const size_t count = scaled(options, 2e6);
  Array<Held> held(count);
  Random random(options.seed);
  const size_t base = rss_kib();  // the array included
  size_t live = 0;
  const double start = now_ns();
  for (Held& h : held) {
    h.size = static_cast<uint32_t>(options.size != 0 ? options.size : random.between(16, 512));
    h.block = fill_block(h.size);
    live += h.size;
  }
  report.add("fill", (now_ns() - start) / 1e6, "ms");
  report.add("full/rss", mb(rss_kib(), base), "MB");
  report.add("full/live", static_cast<double>(live) / 1e6, "MB");

  shuffle(held, random);
  const size_t dying = count / 10 * 9;
  const double free_start = now_ns();
  for (size_t i = 0; i < dying; ++i) {
    if (i % options.verify == 0) check_stamp(held[i].block, held[i].size);
    std::free(held[i].block);
    live -= held[i].size;
  }
  report.add("free", (now_ns() - free_start) / static_cast<double>(dying), "ns");
  report.add("freed/rss", mb(rss_kib(), base), "MB");
  report.add("freed/live", static_cast<double>(live) / 1e6, "MB");

  if (const Trim trim = find_trim()) {
    const double trim_start = now_ns();
    trim(0);
    report.add("trim", (now_ns() - trim_start) / 1e6, "ms");
  }
  report.add("trimmed/rss", mb(rss_kib(), base), "MB");

  const size_t refills = dying * 264 / kRefillSize;  // about the bytes that were freed
  Array<void*> refilled(refills);
  const size_t array_kib = refills * sizeof(void*) / 1024;
  const double refill_start = now_ns();
  for (void*& block : refilled) block = fill_block(kRefillSize);
  report.add("refill", (now_ns() - refill_start) / static_cast<double>(refills), "ns");
  report.add("refilled/rss", mb(rss_kib(), base + array_kib), "MB");
  report.add("refilled/live", static_cast<double>(live + refills * kRefillSize) / 1e6, "MB");
  for (size_t i = dying; i < count; ++i) {
    check_stamp(held[i].block, held[i].size);
    std::free(held[i].block);
  }
  for (void* block : refilled) std::free(block);
}

}  // namespace workload
