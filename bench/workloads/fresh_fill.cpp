// fresh_fill: a process fills fresh memory with small blocks, never frees, and exits. Stresses page faults, carving and
// out-of-band metadata: most short programs are like this. Each round is a child process of its own.
#include "workload.h"

#include <sys/wait.h>
#include <unistd.h>

namespace workload {
namespace {

struct Filled {
  double ns;
  size_t rss_kib;
};

// In a child, so that each round starts from an untouched heap.
Filled fill_in_child(size_t size, size_t bytes) {
  void* const shared = mmap(nullptr, sizeof(Filled), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto* const filled = static_cast<Filled*>(shared);
  const pid_t child = fork();
  if (child == 0) {
    const size_t before = rss_kib();
    const size_t count = bytes / size;
    void* previous = nullptr;
    const double start = now_ns();
    for (size_t i = 0; i < count; ++i) {
      void** const block = static_cast<void**>(std::malloc(size));
      if (block == nullptr) fail("out of memory");
      // All of the block is used, as a program would: filled, with a link to its predecessor at the front.
      std::memset(block, static_cast<int>(i), size);
      *block = previous;
      previous = block;
    }
    filled->ns = (now_ns() - start) / static_cast<double>(count);
    filled->rss_kib = rss_kib() - before;
    size_t seen = 0;
    for (void* block = previous; block != nullptr; block = *static_cast<void**>(block)) ++seen;
    _exit(seen == count ? 0 : 1);
  }
  int status = 1;
  waitpid(child, &status, 0);
  if (status != 0) fail("the filling child");
  const Filled copy = *filled;
  munmap(shared, sizeof(Filled));
  return copy;
}

}  // namespace
}  // namespace workload

int main(int argc, char** argv) {
  using namespace workload;
  const Options options = parse_options(argc, argv);
  Report report("fresh_fill", options);
  const std::vector<size_t> sizes =
      options.size != 0 ? std::vector<size_t>{options.size} : std::vector<size_t>{100, 1000};
  for (const size_t size : sizes) {
    std::vector<double> rounds;
    std::vector<double> memory;
    for (unsigned r = 0; r < options.rounds; ++r) {
      const Filled filled = fill_in_child(size, scaled(options, 200e6));
      rounds.push_back(filled.ns);
      memory.push_back(static_cast<double>(filled.rss_kib));
    }
    report.add_median("ns/" + std::to_string(size), rounds, "ns");
    report.add_median("rss/" + std::to_string(size), memory, "KiB");
  }
  report.print();
}
