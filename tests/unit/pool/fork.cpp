// fork.cpp: a process forks while other threads are inside pools with thread caches, at a place where they wait or
// anywhere. The child makes pools, and threads that use them and end; it must not wait for what the parent's threads
// hold. (It leaves alone the pools that they were inside, as docs/pools.md demands.) A child that hangs is ended by its
// own alarm.
#include <snug/pool.h>
#include <snug/pool_thread_cache.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include "pool/work_bench.h"
#include "waiting.h"

namespace {

// A source that waits, while it is shut, for as long as the caller holds the pool's lock.
struct Gate {
  std::atomic<bool> shut{false};
  std::atomic<bool> reached{false};
};
struct GatedSource {
  Gate* gate;
  void* allocate(std::size_t bytes, std::size_t alignment) noexcept {
    if (gate->shut.load()) {
      gate->reached.store(true);
      gate->reached.notify_all();
      gate->shut.wait(true);
    }
    return snug::HeapSource::allocate(bytes, alignment);
  }
  void deallocate(void* block, std::size_t bytes, std::size_t alignment) noexcept {
    snug::HeapSource::deallocate(block, bytes, alignment);
  }
};
using GatedPool = snug::Pool<void, snug::ThreadCached, snug::Unchecked, GatedSource>;
using CachedPool = snug::Pool<void, snug::ThreadCached>;

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "fork: %s\n", what);
  _exit(1);
}

void use(CachedPool& pool) {
  std::array<void*, 200> elements;
  if (pool.allocate_batch(elements) != elements.size()) fail("no elements");
  pool.deallocate_batch(elements);
}

// In the child.
[[noreturn]] void live_on() {
  alarm(600);
  {
    CachedPool pool(48);
    use(pool);
    std::thread([&pool] {
      CachedPool own(64);
      use(own);
      use(pool);
    }).join();
    if (pool.check() != nullptr || pool.stats().live != 0) fail("the child's pool is broken");
  }
  _exit(0);
}

void fork_once() {
  const pid_t child = fork();
  if (child == 0) live_on();
  int status = -1;
  if (child < 0 || waitpid(child, &status, 0) != child) fail("cannot fork");
  if (status != 0) fail(WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? "the child hangs" : "the child fails");
}

// One thread waits for its source and holds its pool's lock; another that has a cache of that pool ends, as far as it
// can; then comes the fork.
void fork_beside_an_end() {
  Gate gate;
  GatedPool pool(48, 8, {}, GatedSource{&gate});
  std::atomic<pid_t> ending{0};
  std::atomic<bool> may_end{false};
  std::thread other([&] {
    pool.deallocate(pool.allocate());
    ending.store(gettid());
    ending.notify_all();
    may_end.wait(false);
  });
  ending.wait(0);
  std::vector<void*> elements(10000);
  snug::WorkBench holder;
  gate.shut.store(true);
  holder.start([&] {
    if (pool.allocate_batch(elements) != elements.size()) fail("no elements");
    pool.deallocate_batch(elements);
  });
  gate.reached.wait(false);
  may_end.store(true);
  may_end.notify_all();
  support::await_asleep(ending.load(), 20);
  fork_once();
  gate.shut.store(false);
  gate.shut.notify_all();
  other.join();
}

// Threads that come and go, with pools that come and go, while the process forks.
void storm() {
  std::atomic<bool> over{false};
  CachedPool shared(48);
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      while (!over.load()) {
        std::thread([&] {
          CachedPool own(32);
          use(own);
          use(shared);
        }).join();
      }
    });
  }
  for (int i = 0; i < 300; ++i) fork_once();
  over.store(true);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

int main() {
  fork_beside_an_end();
  storm();
  std::puts("every child lived on");
  return 0;
}
