// Threads that free and never allocate: the few frees behind their last destructor begin no cache, as nothing would
// end it.
#include <gtest/gtest.h>
#include <pthread.h>
#include <snug/snug.h>

#include <climits>
#include <vector>

#include "allocator/allocator.h"
#include "base/compiler.h"

namespace snug {
namespace {

constexpr size_t kLessThanForACache = ArrayStore::kMostPlaces - 100;

struct Frees {
  pthread_key_t key;
  int rounds = 0;
  std::vector<void*> blocks;

  void some() {
    for (size_t i = 0; i < kLessThanForACache; ++i) snug_free(blocks.back()), blocks.pop_back();
  }
};

// Comes again until the last round of destructors, in which the key of the thread caches, an older one, has had its
// turn.
void free_behind_the_last(void* argument) {
  Frees& frees = *static_cast<Frees*>(argument);
  if (++frees.rounds != PTHREAD_DESTRUCTOR_ITERATIONS)
    pthread_setspecific(frees.key, &frees);
  else
    frees.some();
}

TEST(ThreadEnd, FreesBehindTheLastDestructorBeginNoCache) {
  if (kUnderThreadSanitizer) GTEST_SKIP() << "to ThreadSanitizer the thread has ended in the last round";
  Frees frees;
  for (size_t i = 0; i < 2 * kLessThanForACache; ++i) frees.blocks.push_back(snug_malloc(100));
  ASSERT_EQ(pthread_key_create(&frees.key, free_behind_the_last), 0);
  const size_t before = allocator.caches.cache_count();
  const auto free_all = [](void* argument) -> void* {
    Frees& own = *static_cast<Frees*>(argument);
    pthread_setspecific(own.key, &own);
    own.some();
    return nullptr;
  };
  pthread_t thread;
  ASSERT_EQ(pthread_create(&thread, nullptr, free_all, &frees), 0);
  pthread_join(thread, nullptr);
  EXPECT_EQ(frees.rounds, PTHREAD_DESTRUCTOR_ITERATIONS);
  EXPECT_TRUE(frees.blocks.empty());
  EXPECT_EQ(allocator.caches.cache_count(), before);
  pthread_key_delete(frees.key);
}

TEST(ThreadEnd, ManyFreesOfALifeBeginOne) {
  std::vector<void*> blocks;
  for (size_t i = 0; i < 2 * kLessThanForACache; ++i) blocks.push_back(snug_malloc(100));
  const auto free_all = [](void* argument) -> void* {
    for (void* block : *static_cast<std::vector<void*>*>(argument)) snug_free(block);
    return thread_state.cache;
  };
  const size_t before = allocator.caches.cache_count();
  pthread_t thread;
  ASSERT_EQ(pthread_create(&thread, nullptr, free_all, &blocks), 0);
  void* cache = nullptr;
  pthread_join(thread, &cache);
  EXPECT_NE(cache, nullptr);
  EXPECT_EQ(allocator.caches.cache_count(), before) << "which has ended with it";
}

}  // namespace
}  // namespace snug
