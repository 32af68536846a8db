// A cache in memory with values that grow over time, on a compacting heap: once as it comes, once with compaction
// turned off. Each line is what it holds, and what of it lies in RAM.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "snug/compact_heap.h"
#include "snug/snug.h"

namespace {

using Cache = snug::CompactMap<unsigned, snug::CompactString>;

std::size_t resident_bytes() {
  unsigned long pages = 0;
  if (std::FILE* const file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%*u %lu", &pages) != 1) pages = 0;
    std::fclose(file);
  }
  return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

// Values that have gone are random ones: those that stay lie scattered.
void run(std::size_t limit, std::size_t not_full) {
  const std::size_t before = resident_bytes();
  snug::CompactHeap heap({.not_full = not_full});
  Cache cache(heap);
  std::mt19937 random(1);
  std::size_t held = 0;
  std::vector<unsigned> keys;
  unsigned next = 0;
  for (unsigned mean = 200; mean <= 1600; mean += 200) {
    for (std::size_t stored = 0; stored < 2 * limit;) {
      const std::size_t bytes = mean / 2 + random() % mean;
      keys.push_back(next);
      cache.try_emplace(next++, snug::CompactString(heap, std::string(bytes, 'x')));
      stored += bytes;
      for (held += bytes; held > limit; keys.pop_back()) {
        std::swap(keys[random() % keys.size()], keys.back());
        held -= cache.find(keys.back())->size();
        cache.erase(keys.back());
      }
    }
    snug_malloc_trim(0);  // what is free in whole pages goes to the kernel at once, for the figure's sake
    const std::size_t mib = std::size_t{1} << 20;
    std::printf("  values of about %4u bytes: %zu MiB in %zu values, RSS %zu MiB\n", mean, held / mib, cache.size(),
                (resident_bytes() - before) / mib);
  }
  if (heap.check() != nullptr || cache.check() != nullptr) std::abort();
}

}  // namespace

int main(int count, char** arguments) {
  const std::size_t limit = (count > 1 ? std::strtoul(arguments[1], nullptr, 10) : 32) << 20;
  // Each in a process of its own, so that neither lives on what the other has left.
  for (const bool compacts : {true, false}) {
    std::printf(compacts ? "with compaction\n" : "without\n");
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      run(limit, compacts ? 1 : SNUG_COMPACT_NEVER);
      std::fflush(stdout);
      _exit(0);
    }
    int status = 1;
    waitpid(child, &status, 0);
    if (status != 0) return 1;
  }
}
