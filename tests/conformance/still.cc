// still.cc: threads that have freed all they had and sleep, so that it lies in their caches. While the main thread
// calls no allocator, the idle thread must bring it home, whether the program has asked for it or not. Usage: still
// ALLOCATOR. Exit status 0 means that it has.
#include "subject.h"
#include "threads.h"

#include <pthread.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr int kSleepers = 16;
constexpr std::size_t kSize = 8192;
pthread_barrier_t all_sleep;

void* cache_and_sleep(void*) {
  void* blocks[64];
  for (int round = 0; round < 20; ++round) {
    for (void*& block : blocks) {
      block = subject::malloc(kSize);
      if (block == nullptr) std::abort();
      std::memset(block, 1, kSize);
    }
    for (void* block : blocks) subject::free(block);
  }
  pthread_barrier_wait(&all_sleep);
  for (;;) pause();
}

std::size_t cached() {
  snug_stats stats{};
  subject::take_stats(stats);
  return stats.bytes_cached;
}

}  // namespace

int main(int count, char** words) {
  if (count != 2 || std::strcmp(words[1], subject::name()) != 0) {
    std::fprintf(stderr, "still: malloc is served by %s\n", subject::object());
    return 3;
  }
  pthread_barrier_init(&all_sleep, nullptr, kSleepers + 1);
  for (int i = 0; i < kSleepers; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, nullptr, cache_and_sleep, nullptr) != 0) return 2;
  }
  pthread_barrier_wait(&all_sleep);
  const std::size_t before = cached();
  const bool is_home = comes_true([before] { return cached() < before / 4; });
  std::printf("%zu KiB in caches, of %zu\n", cached() >> 10, before >> 10);
  std::fflush(stdout);
  _exit(is_home && before > (std::size_t{1} << 20) && subject::check() == nullptr ? 0 : 1);
}
