// large_replace: twenty blocks of a fifth of 25 MiB to all of it are alive; one after the other is replaced at random,
// by one of another size, and every OS page of it touched. Stresses whether what a large block leaves serves others.
// Resembles image and scientific programs, and servers of documents.
#include "workload.h"

namespace workload {
namespace {

constexpr size_t kOsPage = 4096;
constexpr size_t kAlive = 20;

struct Block {
  char* start = nullptr;
  size_t size = 0;
};

void touch(const Block& block) {
  if (block.start == nullptr) fail("out of memory");
  for (size_t at = 0; at < block.size; at += kOsPage)
    *const_cast<volatile char*>(block.start + at) = static_cast<char>(at >> 12 ^ block.size >> 4);
}

void verify(const Block& block) {
  for (size_t at = 0; at < block.size; at += kOsPage * 64)
    if (block.start[at] != static_cast<char>(at >> 12 ^ block.size >> 4)) fail("a block was damaged");
}

// us a replacement.
double run(size_t largest, const Options& options, uint64_t seed) {
  Random random(seed);
  Array<Block> alive(kAlive);
  const size_t replacements = std::max<size_t>(20, scaled(options, 1000));
  double start = 0;
  for (size_t i = 0; i < kAlive + replacements; ++i) {
    if (i == kAlive) start = now_ns();
    Block& block = alive[i < kAlive ? i : random.below(kAlive)];
    if (block.start != nullptr) verify(block);
    std::free(block.start);
    block.size = random.between(largest / 5, largest);
    block.start = static_cast<char*>(std::malloc(block.size));
    touch(block);
  }
  const double us = (now_ns() - start) / 1e3 / static_cast<double>(replacements);
  for (const Block& block : alive) std::free(block.start);
  return us;
}

}  // namespace

const Program kProgram = {
    .name = "large_replace",
    .what =
        R"(Keeps twenty large blocks of mixed sizes, and replaces one after the other at random, each OS page touched. Shows
whether what a large block leaves serves others.)",
    .figures = "MiBM, as 25M, the largest size: us a replacement, of blocks of a fifth of that to all of it.",
    .sizes = "25 MiB",
    .threads = "threads that do the same, each with blocks of its own"};

void measure_all(const Options& options, Report& report) {
  for (const size_t size : options.sizes_or({25 << 20})) {
    report.measure(std::to_string(size >> 20) + "M", "us", [&](uint64_t seed) {
      return average_of_threads(options.threads, [&](unsigned t) { return run(size, options, seed + t); });
    });
  }
}

}  // namespace workload
