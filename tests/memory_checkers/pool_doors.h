// The doors of pools.
#pragma once

#include <snug/pool.h>
#include <snug/pool_thread_cache.h>
#include <snug/pooled.h>

#include <cstddef>
#include <cstdio>
#include <cstring>

#include "use_after_free.h"

template <class TestedPool>
void pool_door(TestedPool&& pool) {
  go_through([&] { return pool.allocate(); }, [&](void* element) { pool.deallocate(element); });
  if (pool.check() != nullptr) std::puts("unsound");
  static_cast<void>(pool.stats());
  pool.for_each_live([](auto&&) {});
  pool.release_unused();
  void* elements[100];
  const std::size_t got = pool.allocate_batch(elements);
  pool.drop_all();
  const std::size_t again = pool.allocate_batch(elements);
  if (got != 100 || again != 100) std::puts("no memory");
  pool.deallocate_batch(elements);
}

// Many elements go back at once: `give` takes the pool and an array of them.
template <class TestedPool, class Give>
void pool_many_door(TestedPool& pool, Give give) {
  void* elements[100];
  if (pool.allocate_batch(elements) != 100) std::puts("no memory");
  for (void* const element : elements) std::memset(element, 1, sizeof(Object));
  give(pool, elements);
  use_after_free(elements[50]);
}
template <class TestedPool>
void pool_batch_door(TestedPool&& pool) {
  pool_many_door(pool, [](auto& own, auto& elements) { own.deallocate_batch(elements); });
}
template <class TestedPool>
void pool_drop_door(TestedPool&& pool) {
  pool_many_door(pool, [](auto& own, auto&) { own.drop_all(); });
}
template <class TestedPool>
void pool_release_door(TestedPool&& pool) {
  pool_many_door(pool, [](auto& own, auto&) { own.drop_all_and_release(); });
}

template <class Checks>
void pooled_door() {
  struct Node : snug::Pooled<Node, snug::SingleThread, Checks> {
    volatile long words[kWords];
  };
  go_through([] { return static_cast<void*>(new Node); }, [](void* node) { delete static_cast<Node*>(node); });
}
