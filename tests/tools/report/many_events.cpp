// many_events PAIRS: allocates and frees so many blocks, in 4 threads and by some 500 stacks, for recordings that are
// as long as a server's. Each thread holds some thousand blocks of many sizes, more in one time than in another; a
// hundredth of all is freed by another thread, and some 100,000 are never freed.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <atomic>
#include <thread>
#include <vector>

namespace {

constexpr unsigned kThreads = 4, kDepth = 7, kHeld = 4096, kKinds = 4;
constexpr uint64_t kLeaks = 100000;

std::atomic<void*> handed[1024];

uint32_t next(uint64_t& state) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return static_cast<uint32_t>(state >> 33);
}

// A path through kDepth calls, by the bits of `path`, and at its end one of kKinds functions that allocate.
template <unsigned Kind>
__attribute__((noinline)) void* make(size_t bytes) {
  void* block = malloc(bytes + Kind);
  __asm__ volatile("" : : "r"(block) : "memory");
  return block;
}

void* turn(unsigned path, unsigned depth, size_t bytes);

__attribute__((noinline)) void* left(unsigned path, unsigned depth, size_t bytes) {
  void* block = turn(path, depth, bytes);
  __asm__ volatile("" : : "r"(block) : "memory");
  return block;
}

__attribute__((noinline)) void* right(unsigned path, unsigned depth, size_t bytes) {
  void* block = turn(path, depth, bytes);
  __asm__ volatile("" : : "r"(block) : "memory");
  return block;
}

__attribute__((always_inline)) inline void* turn(unsigned path, unsigned depth, size_t bytes) {
  if (depth != kDepth) return path >> depth & 1 ? right(path, depth + 1, bytes) : left(path, depth + 1, bytes);
  switch (path >> kDepth & (kKinds - 1)) {
    case 0:
      return make<0>(bytes);
    case 1:
      return make<1>(bytes);
    case 2:
      return make<2>(bytes);
    default:
      return make<3>(bytes);
  }
}

void work(unsigned number, uint64_t pairs) {
  std::vector<void*> held(kHeld);
  uint64_t state = number + 1;
  for (uint64_t i = 0; i != pairs; ++i) {
    const uint32_t drawn = next(state);
    // Blocks are longer in the second and the last quarter of the time.
    const bool is_high = i * 4 / pairs % 2 == 1;
    void* block = turn(drawn % 512, 0, 16 + (drawn >> 9) % (is_high ? 6000 : 1000));
    if (i % (pairs * kThreads / kLeaks + 1) == 0) continue;
    void*& place = held[next(state) % kHeld];
    void* old = place;
    place = block;
    free(i % 100 == 0 ? handed[drawn % 1024].exchange(old) : old);
  }
  for (void* block : held) free(block);
}

}  // namespace

int main(int count, char** words) {
  const uint64_t pairs = count > 1 ? strtoull(words[1], nullptr, 10) : 1000000;
  std::vector<std::thread> threads;
  for (unsigned i = 0; i != kThreads; ++i) threads.emplace_back(work, i, pairs / kThreads);
  for (std::thread& thread : threads) thread.join();
  return 0;
}
