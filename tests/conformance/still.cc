// still.cc: threads that have freed all they had and sleep, so that it lies in their caches. While the main thread
// calls no allocator, the background thread must bring it home, whether the program has asked for it or not; and while
// it does, no reader of the statistics may find more or fewer blocks in use. Usage: still ALLOCATOR. Exit status 0
// means that it has.
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

snug_stats statistics() {
  snug_stats stats{};
  subject::take_stats(stats);
  return stats;
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
  const snug_stats before = statistics();
  snug_stats after = before;
  unsigned long readings = 0, wrong = 0;
  const bool is_home = comes_true([&] {
    for (int i = 0; i < 2000; ++i, ++readings) {
      after = statistics();
      if (after.blocks_in_use != before.blocks_in_use || after.bytes_in_use != before.bytes_in_use) ++wrong;
    }
    return after.bytes_cached < before.bytes_cached / 4;
  });
  std::printf("%llu KiB in caches, of %llu; %lu of %lu readings wrong\n",
              static_cast<unsigned long long>(after.bytes_cached >> 10),
              static_cast<unsigned long long>(before.bytes_cached >> 10), wrong, readings);
  std::fflush(stdout);
  _exit(is_home && wrong == 0 && before.bytes_cached > (std::size_t{1} << 20) && subject::check() == nullptr ? 0 : 1);
}
