// memory.cc: what snug_get_memory says of each byte adds up to what /proc/self/smaps says of snug's mappings, under the
// load that the argument names, and the bytes are said to be where the load has put them. Linked to libsnug.a, so that
// the mappings without a name that come after the start are snug's: the C library's malloc is kept to the [heap], and
// the stacks of threads lie, as everything else here, in static memory.
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "snug/snug.h"

extern "C" char __bss_start;
extern "C" char _end;

namespace {

constexpr std::size_t kMiB = 1 << 20;
constexpr std::size_t kBlocks = 200'000;
constexpr std::size_t kThreads = 64;
constexpr std::size_t kStack = 128 << 10;

char maps[8 * kMiB];
void* blocks[kBlocks];
alignas(4096) char stacks[kThreads][kStack];
sem_t ready, done;
bool failed = false;

void expect(bool holds, const char* what) {
  if (holds) return;
  std::printf("not so: %s\n", what);
  failed = true;
}

// The bytes in memory of every mapping that has no name, the program's own static memory apart.
std::uint64_t unnamed_rss() {
  const int file = open("/proc/self/smaps", O_RDONLY | O_CLOEXEC);
  std::size_t length = 0;
  for (ssize_t got = 1; got > 0 && length + 1 < sizeof maps; length += static_cast<std::size_t>(got))
    got = std::max<ssize_t>(read(file, maps + length, sizeof maps - 1 - length), 0);
  close(file);
  maps[length] = 0;
  std::uint64_t sum = 0;
  bool counts = false;
  for (char* line = maps; *line != 0;) {
    char* const end = std::strchr(line, '\n');
    *end = 0;
    unsigned long first = 0, last = 0, inode = 0, kib = 0;
    char name[16] = "";
    if (std::sscanf(line, "%lx-%lx %*s %*s %*s %lu %15s", &first, &last, &inode, name) >= 3) {
      const bool is_static = first < reinterpret_cast<std::uintptr_t>(&_end) &&
                             last > (reinterpret_cast<std::uintptr_t>(&__bss_start) & ~std::uintptr_t{4095});
      counts = name[0] == 0 && !is_static;
    } else if (counts && std::sscanf(line, "Rss: %lu kB", &kib) == 1) {
      sum += std::uint64_t{kib} * 1024;
    }
    line = end + 1;
  }
  return sum;
}

snug_memory compare(const char* when, std::uint64_t before) {
  snug_memory m{};
  if (snug_get_memory(&m) != 0) {
    std::puts("the kernel does not say which pages are in memory");
    std::exit(77);
  }
  const std::uint64_t rss = unnamed_rss() - before;
  std::printf(
      "%s: smaps %lu, snug %lu KiB: requested %lu, rounding %lu, cached %lu, on their way %lu, free in slabs %lu, "
      "empty slabs %lu, free pages %lu, kept large %lu, records %lu, other %lu; untouched %lu, swapped %lu\n",
      when, rss >> 10, m.rss >> 10, m.requested >> 10, m.rounding >> 10, m.cached >> 10, m.on_their_way >> 10,
      m.free_in_slabs >> 10, m.empty_slabs >> 10, m.free_pages >> 10, m.kept_large >> 10, m.records >> 10,
      m.other >> 10, m.untouched >> 10, m.swapped >> 10);
  const std::uint64_t difference = rss > m.rss ? rss - m.rss : m.rss - rss;
  // Four OS pages: those that the second look has touched.
  expect(difference <= rss / 50 + 16384, "the parts add up to what smaps says, within 2% and 16 KiB");
  expect(m.rss == m.requested + m.rounding + m.cached + m.on_their_way + m.free_in_slabs + m.empty_slabs +
                      m.free_pages + m.kept_large + m.records + m.other,
         "rss is the sum of its parts");
  return m;
}

bool is_about(std::uint64_t bytes, std::uint64_t expected) {
  return bytes >= expected - expected / 20 && bytes <= expected + expected / 20 + 65536;
}

std::size_t fill(std::size_t count, std::size_t least, std::size_t span) {
  std::size_t sum = 0;
  for (std::size_t i = 0; i != count; ++i) {
    const std::size_t size = least + i * 7919 % span;
    std::memset(blocks[i] = snug_malloc(size), 1, size);
    sum += size;
  }
  return sum;
}

void free_all(std::size_t count) {
  for (std::size_t i = 0; i != count; ++i) snug_free(blocks[i]);
}

void small(std::uint64_t before) {
  const std::size_t sum = fill(kBlocks, 16, 300);
  const snug_memory m = compare("live", before);
  expect(is_about(m.requested, sum), "what was asked for is requested");
  for (std::size_t i = 0; i < kBlocks; i += 2) snug_free(blocks[i]);
  const snug_memory half = compare("each second freed", before);
  expect(is_about(half.requested, sum / 2), "half of it is requested still");
  expect(half.free_in_slabs >= sum / 4, "what was freed is free in slabs");
}

void burst(std::uint64_t before) {
  const std::size_t sum = fill(kBlocks, 64, 1000);
  free_all(kBlocks);
  const snug_memory m = compare("freed", before);
  expect(m.requested + m.rounding <= 65536, "nothing is requested any more");
  expect(is_about(m.cached + m.free_in_slabs + m.empty_slabs + m.free_pages + m.records, m.rss),
         "what is there is kept, and said why");
  expect(m.rss < sum, "a part has gone back");
}

void large(std::uint64_t before) {
  fill(30, 40 * kMiB / 10, kMiB);
  blocks[30] = snug_malloc(50 * kMiB);
  std::memset(blocks[30], 1, 50 * kMiB);
  compare("live", before);
  snug_free(blocks[30]);
  for (std::size_t i = 0; i < 30; i += 2) snug_free(blocks[i]);
  const snug_memory m = compare("half freed", before);
  expect(m.free_pages + m.kept_large >= 20 * kMiB, "what was freed is kept");
}

void growing(std::uint64_t before) {
  char* block = nullptr;
  for (std::size_t size = 1000; size < 100 * kMiB; size += size / 3) {
    block = static_cast<char*>(snug_realloc(block, size));
    std::memset(block, 1, size);
    blocks[0] = block;
  }
  const snug_memory m = compare("grown", before);
  expect(m.requested >= 70 * kMiB, "what was asked for last is requested");
}

void untouched(std::uint64_t before) {
  for (std::size_t i = 0; i != 500; ++i) *static_cast<char*>(blocks[i] = snug_calloc(1, 200'000)) = 1;
  for (std::size_t i = 500; i != 520; ++i) *static_cast<char*>(blocks[i] = snug_calloc(1, 5 * kMiB)) = 1;
  const snug_memory m = compare("a byte of each", before);
  std::size_t usable = 0;
  for (std::size_t i = 0; i != 520; ++i) usable += snug_malloc_usable_size(blocks[i]) - 4096;
  expect(is_about(m.untouched, usable), "what was handed out and not touched is untouched");
  expect(m.requested + m.rounding < 8 * kMiB, "and is in no memory");
}

void huge(std::uint64_t before) {
  char* block = nullptr;
  for (std::size_t size = kMiB; size < 64 * kMiB; size *= 2) {
    block = static_cast<char*>(snug_realloc(block, size));
    std::memset(block, 1, size);
    blocks[0] = block;
  }
  fill(kBlocks, 400, 500);
  compare("grown heap", before);
  for (std::size_t i = 0; i != kBlocks; ++i)
    if (i % 100 != 0) snug_free(blocks[i]);
  compare("99 of 100 freed", before);
  snug_malloc_trim(0);
  compare("trimmed", before);
}

void* sleeper(void* place) {
  auto* const mine = static_cast<void**>(place);
  for (std::size_t i = 0; i != 200; ++i) std::memset(mine[i] = snug_malloc(16 + i * 20), 1, 16 + i * 20);
  for (std::size_t i = 0; i < 200; i += 2) snug_free(mine[i]);
  sem_post(&ready);
  sem_wait(&done);
  return nullptr;
}

void asleep(std::uint64_t before) {
  pthread_t threads[kThreads];
  sem_init(&ready, 0, 0);
  sem_init(&done, 0, 0);
  for (std::size_t i = 0; i != kThreads; ++i) {
    pthread_attr_t how;
    pthread_attr_init(&how);
    pthread_attr_setstack(&how, stacks[i], kStack);
    if (pthread_create(&threads[i], &how, sleeper, blocks + 200 * i) != 0) std::exit(1);
    pthread_attr_destroy(&how);
  }
  for (std::size_t i = 0; i != kThreads; ++i) sem_wait(&ready);
  const snug_memory m = compare("threads asleep", before);
  expect(m.cached >= kThreads * 10'000, "what their caches hold is cached");
  for (std::size_t i = 0; i != kThreads; ++i)
    for (std::size_t j = 1; j < 200; j += 2) snug_free(blocks[200 * i + j]);
  compare("freed by another", before);
  for (std::size_t i = 0; i != kThreads; ++i) sem_post(&done);
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
  compare("ended", before);
}

// Records lie in pages of the heap where the OS gives no addresses.
void pressed(std::uint64_t before) {
  snug_free(snug_malloc(16));
  const rlimit none{kMiB, RLIM_INFINITY};
  if (setrlimit(RLIMIT_AS, &none) != 0) std::exit(77);
  void** newest = nullptr;
  std::size_t sum = 0;
  while (void* block = snug_malloc(16)) {
    *static_cast<void**>(block) = newest;
    newest = static_cast<void**>(block);
    sum += 16;
  }
  const rlimit any{RLIM_INFINITY, RLIM_INFINITY};
  setrlimit(RLIMIT_AS, &any);
  const snug_memory m = compare("full", before);
  expect(is_about(m.requested + m.rounding, sum), "what was had is live");
  expect(m.records >= sum / 40, "a fortieth of it are records");
  expect(m.free_pages < kMiB / 4, "which do not count as free");
}

struct Load {
  const char* name;
  void (*run)(std::uint64_t before);
};
constexpr Load kLoads[] = {{"small", small},         {"burst", burst}, {"large", large},   {"growing", growing},
                           {"untouched", untouched}, {"huge", huge},   {"asleep", asleep}, {"pressed", pressed}};

}  // namespace

int main(int argc, char** argv) {
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_ARENA_MAX, 1);
  std::printf("%s\n", argc > 1 ? argv[1] : "no load");
  unnamed_rss();
  const std::uint64_t before = unnamed_rss();
  for (const Load& load : kLoads) {
    if (argc != 2 || std::strcmp(argv[1], load.name) != 0) continue;
    load.run(before);
    return failed ? 1 : 0;
  }
  return 2;
}
