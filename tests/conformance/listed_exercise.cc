// listed_exercise.cc: makes snug, linked into it, make each of its system calls: growth that earns huge pages, blocks
// that grow and shrink, real-time memory, messages, a stack with a gap, a report at the end, a thread that sleeps with
// something in its cache, a background thread that has nothing to do at last.
#include <snug/cell_heap_c.h>
#include <snug/heap.h>
#include <snug/snug.h>

#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "named_thread.h"
#include "waiting.h"

namespace {

void fill(std::size_t size, std::size_t bytes) {
  std::vector<void*> blocks(bytes / size);
  for (void*& block : blocks) {
    block = snug_malloc(size);
    if (block == nullptr) _exit(2);
    std::memset(block, 1, size);
  }
  for (void* block : blocks) snug_free(block);
}

void grow() {
  char* block = nullptr;
  for (std::size_t size = 1 << 16; size < (std::size_t{48} << 20); size += 1 << 18) {
    block = static_cast<char*>(snug_realloc(block, size));
    if (block == nullptr) _exit(3);
    std::memset(block, 1, size);
  }
  snug_free(snug_realloc(block, 1 << 22));
}

pthread_barrier_t sleeps;

void* cache_and_sleep(void*) {
  fill(200, 20000);
  pthread_barrier_wait(&sleeps);
  for (;;) pause();
}

// Of a thread that is there, but does not look.
void trim_others() {
  pthread_t thread;
  pthread_barrier_init(&sleeps, nullptr, 2);
  if (pthread_create(&thread, nullptr, cache_and_sleep, nullptr) != 0) _exit(4);
  pthread_barrier_wait(&sleeps);
  snug_malloc_trim(0);
}

char* volatile seen_by_others;

// A walk of the stack asks whether it can read a frame that lies pages above the last one.
[[gnu::noinline]] void allocate_far_below() {
  char between[1 << 16];
  seen_by_others = between;
  snug_free(snug_malloc(100));
  seen_by_others = nullptr;
}

// The kernel may know no nodes, and is asked.
void use_a_node() {
  struct snug_heap_options options = {};
  options.size = sizeof options;
  options.flags = SNUG_HEAP_ON_NODE;
  snug_heap* const heap = snug_heap_create(&options);
  if (heap == nullptr) return;
  if (snug_heap_malloc(heap, 100) == nullptr) _exit(4);
  snug_heap_destroy(heap);
}

bool has_settled() {
  snug_stats stats{};
  snug_get_stats(&stats);
  const char* const settings = std::getenv("SNUG_CONF");
  const bool publishes = settings != nullptr && std::strstr(settings, "publish:on") != nullptr;
  return has_thread_named("snug-idle") && (!publishes || has_thread_named("snug-control")) &&
         stats.bytes_retained < std::size_t{4} << 20;
}

}  // namespace

int main() {
  allocate_far_below();
  fill(100, std::size_t{16} << 20);
  fill(10000, std::size_t{32} << 20);
  grow();
  // It may be refused the lock, and asks for it.
  struct snug_cell_region region;
  if (snug_cell_region_map(&region, 1 << 20) == 0) snug_cell_region_unmap(&region);
  use_a_node();
  trim_others();
  snug_malloc_stats();
  // Its own threads make calls that no other thread makes: their names, and what gives back what has been freed.
  if (!support::comes_true(has_settled)) return std::fputs("it has not settled\n", stderr), 5;
  std::puts("all passed");
  return 0;
}
