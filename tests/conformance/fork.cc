// fork.cc: two threads fork at once while four allocate and free; every child allocates, frees what it inherited, and
// exits.
//
// A fork copies the heap in the middle of the other threads' work. If a lock was held at that moment, or a list was
// half linked, the child deadlocks or crashes. The alarm is the watchdog: a child that hangs dies by SIGALRM and is
// counted. Usage: fork ALLOCATOR FORKS
#include "pattern.h"
#include "subject.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace {

constexpr int kThreads = 4;
constexpr int kForkers = 2;
constexpr int kSlots = 512;
constexpr unsigned kChildSeconds = 600;
constexpr unsigned kParentSeconds = 1400;

// A block describes itself, so that the thread that takes it from a slot, in any process, can prove it whole.
struct Header {
  std::size_t size;
  std::uint64_t seed;
};

std::atomic<void*> slots[kSlots];
std::atomic<bool> stop = false;
std::atomic<std::uint64_t> operations = 0;

void* make(pattern::Random& random) {
  // Of all sizes: one in sixty-four up to 4 MiB, the rest up to 16 KiB.
  const std::size_t size = sizeof(Header) + random.size(random.below(64) == 0 ? 21 : 13);
  auto* header = static_cast<Header*>(subject::malloc(size));
  if (header == nullptr) return nullptr;
  *header = {size, random.next()};
  // Only the ends of the large are written: the test is about structure, not about page faults.
  const std::size_t body = size - sizeof(Header);
  pattern::fill(header + 1, body < 4096 ? body : 4096, header->seed);
  return header;
}

bool destroy(void* block) {
  auto* header = static_cast<Header*>(block);
  const std::size_t body = header->size - sizeof(Header);
  const bool whole = pattern::intact(header + 1, body < 4096 ? body : 4096, header->seed);
  subject::free(block);
  return whole;
}

void exchange_some(pattern::Random& random, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    void* block = make(random);
    if (block == nullptr) std::abort();
    if (round % 16 == 0) {
      auto* grown = static_cast<Header*>(subject::realloc(block, static_cast<Header*>(block)->size + 5000));
      if (grown == nullptr) std::abort();
      block = grown;
    }
    void* old = slots[random.below(kSlots)].exchange(block);
    if (old != nullptr && !destroy(old)) std::abort();
    operations.fetch_add(1, std::memory_order_relaxed);
  }
}

void* worker(void* argument) {
  pattern::Random random(reinterpret_cast<std::uintptr_t>(argument));
  while (!stop.load(std::memory_order_relaxed)) exchange_some(random, 100);
  return nullptr;
}

void* one_more_thread(void* argument) {
  exchange_some(*static_cast<pattern::Random*>(argument), 50);
  return nullptr;
}

[[noreturn]] void live_as_child(int number) {
  alarm(kChildSeconds);
  pattern::Random random(1000 + static_cast<std::uint64_t>(number));
  exchange_some(random, 200);
  // Inherited from the parent: blocks of its main thread and of threads that do not exist here.
  for (int i = number % 8; i < kSlots; i += 8) {
    void* block = slots[i].exchange(nullptr);
    if (block != nullptr && !destroy(block)) _exit(2);
  }
  if (number % 16 == 0 && subject::owns("malloc_trim")) subject::malloc_trim(0);
  if (number % 16 == 1 && !subject::kSanitized) {
    pthread_t thread;
    if (pthread_create(&thread, nullptr, one_more_thread, &random) != 0) _exit(3);
    pthread_join(thread, nullptr);
  }
  if (number % 64 == 2) {
    // A grandchild, as shells make them.
    const pid_t pid = fork();
    if (pid == 0) {
      exchange_some(random, 50);
      _exit(0);
    }
    int status = -1;
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0) _exit(4);
  }
  if (number % 32 == 3 && subject::check() != nullptr) {
    std::fprintf(stderr, "fork: child %d: %s\n", number, subject::check());
    _exit(5);
  }
  _exit(0);
}

std::atomic<int> failures = 0;

void note_failure(int number, int status) {
  ++failures;
  if (WIFSIGNALED(status))
    std::fprintf(stderr, "fork: child %d ended by signal %d%s\n", number, WTERMSIG(status),
                 WTERMSIG(status) == SIGALRM ? " (deadlock)" : "");
  else
    std::fprintf(stderr, "fork: child %d exited with %d\n", number, WEXITSTATUS(status));
}

struct Forks {
  int first, count;
};

// Every kForkers-th of the forks.
void* fork_some(void* argument) {
  const Forks forks = *static_cast<Forks*>(argument);
  pattern::Random random(99 + static_cast<std::uint64_t>(forks.first));
  for (int number = forks.first; number < forks.count && failures < 5; number += kForkers) {
    exchange_some(random, 10);
    const pid_t pid = fork();
    if (pid == 0) live_as_child(number);
    if (pid < 0) {
      std::perror("fork");
      _exit(5);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    if (status != 0) note_failure(number, status);
  }
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 || std::strcmp(argv[1], subject::name()) != 0) {
    std::fprintf(stderr, "fork: malloc is served by %s\n", subject::object());
    return 3;
  }
  const int forks = std::atoi(argv[2]);
  alarm(kParentSeconds);
  pthread_t threads[kThreads];
  for (std::uintptr_t i = 0; i < kThreads; ++i)
    if (pthread_create(&threads[i], nullptr, worker, reinterpret_cast<void*>(i + 1)) != 0) return 4;
  pthread_t forkers[kForkers];
  Forks parts[kForkers];
  for (int i = 0; i < kForkers; ++i) {
    parts[i] = {i, forks};
    if (pthread_create(&forkers[i], nullptr, fork_some, &parts[i]) != 0) return 4;
  }
  for (pthread_t& thread : forkers) pthread_join(thread, nullptr);
  stop = true;
  for (pthread_t& thread : threads) pthread_join(thread, nullptr);
  int damaged = 0;
  for (std::atomic<void*>& slot : slots)
    if (void* block = slot.load()) damaged += !destroy(block);
  if (const char* broken = subject::check()) {
    std::fprintf(stderr, "fork: parent: %s\n", broken);
    ++failures;
  }
  std::printf("forks: %d, operations meanwhile: %llu, failures: %d, damaged blocks: %d\n", forks,
              static_cast<unsigned long long>(operations.load()), failures.load(), damaged);
  // Were the threads idle, the forks would prove nothing.
  return failures == 0 && damaged == 0 && operations > static_cast<std::uint64_t>(forks) * 20 ? 0 : 1;
}
