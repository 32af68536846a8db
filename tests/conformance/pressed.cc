// pressed.cc: a process that the OS gives no addresses any more. What is free in its heap must serve it, no matter
// which thread freed it or what lies around it. Each mode fills the heap, frees a part of it in its own way, and counts
// how much of that it gets. Usage: pressed MODE
//
//   records   so little is free at a place that no chunk can be given back, and blocks want more records than there are
//   longer    every other block of 1000 bytes is free, and shorter ones are asked for
//   others    the same, of a thread that sleeps
//   child     as records, in the child of a fork
//   refused   not a limit, but a filter that refuses every mapping; after a request that cannot be served
//   thread    all of 200 MiB is free again under a limit on addresses: a thread finds a place for its stack
//   data      the same under a limit on data: the program's own mappings find theirs
//   again     under a limit below what the process has, a second round gets as long a block as the first
//   crowd     200 threads replace blocks at random in a table that they share
#include "subject.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

// Blocks linked through their first words, so that the list takes no memory of its own.
struct Block {
  Block* next;
};

class Blocks {
 public:
  // Takes blocks of the size until one is refused; returns how many.
  std::size_t fill(std::size_t size) {
    const std::size_t before = count_;
    errno = 0;
    while (void* block = subject::malloc(size)) push(static_cast<Block*>(block));
    if (errno != ENOMEM) std::abort();
    return count_ - before;
  }
  // Keeps every `nth`; returns how many it has freed.
  std::size_t thin(std::size_t nth) {
    Blocks kept;
    std::size_t freed = 0;
    for (std::size_t i = 0; first_ != nullptr; ++i) {
      Block* const block = first_;
      first_ = block->next;
      if (i % nth == 0) {
        kept.push(block);
      } else {
        subject::free(block);
        ++freed;
      }
    }
    *this = kept;
    return freed;
  }
  // Takes one block, which must not be refused, and writes to its start.
  void take(std::size_t size) {
    void* block = subject::malloc(size);
    if (block == nullptr) std::abort();
    push(static_cast<Block*>(block));
  }
  void free_all() {
    while (first_ != nullptr) subject::free(std::exchange(first_, first_->next));
  }

 private:
  void push(Block* block) {
    block->next = first_;
    first_ = block;
    ++count_;
  }
  Block* first_ = nullptr;
  std::size_t count_ = 0;
};

void limit(int resource, std::size_t bytes) {
  const rlimit limit{bytes, RLIM_INFINITY};
  if (setrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0) std::abort();
}

// From now on the OS gives so many addresses beyond those that there are.
void press(std::size_t more = 0) {
  char text[64] = {};
  const int file = open("/proc/self/statm", O_RDONLY);
  if (file < 0 || read(file, text, sizeof text - 1) <= 0) std::abort();
  close(file);
  limit(RLIMIT_AS, std::strtoul(text, nullptr, 10) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) + more);
}

// The same by a filter, under which what goes back does not come again.
bool refuse_mappings() {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mremap, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOMEM),
  };
  const sock_fprog filter{sizeof program / sizeof *program, program};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

// 0 if the bytes served are nine tenths of those that were free.
int judge(const char* mode, std::size_t served, std::size_t free) {
  std::printf("%s: served %zu KiB of %zu\n", mode, served >> 10, free >> 10);
  const char* broken = subject::check();
  if (broken != nullptr) std::printf("%s: %s\n", mode, broken);
  return broken == nullptr && served >= free / 10 * 9 ? 0 : 1;
}

int records() {
  press();
  Blocks blocks;
  blocks.fill(65536);
  const std::size_t free = blocks.thin(8) * 65536;
  return judge("records", Blocks().fill(16) * 16, free);
}

int child() {
  press();
  Blocks blocks;
  blocks.fill(65536);
  const std::size_t free = blocks.thin(8) * 65536;
  const pid_t pid = fork();
  if (pid == 0) _exit(judge("child", Blocks().fill(16) * 16, free));
  int status = 1;
  if (pid < 0 || waitpid(pid, &status, 0) != pid) return 1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int longer() {
  press();
  Blocks blocks;
  blocks.fill(1000);
  const std::size_t free = blocks.thin(2);
  return judge("longer", Blocks().fill(64), free);
}

// A thread that fills the heap, frees every other block, and sleeps.
constexpr std::size_t kOfSleeper = 20000;
std::size_t freed_by_sleeper = 0;
pthread_barrier_t pressed;
pthread_barrier_t filled;

void* sleep_with_half(void*) {
  static Blocks blocks;
  pthread_barrier_wait(&pressed);
  blocks.fill(kOfSleeper);
  freed_by_sleeper = blocks.thin(2);
  pthread_barrier_wait(&filled);
  for (;;) pause();
}

void begin_sleeper() {
  pthread_barrier_init(&pressed, nullptr, 2);
  pthread_barrier_init(&filled, nullptr, 2);
  pthread_t thread;
  if (pthread_create(&thread, nullptr, sleep_with_half, nullptr) != 0) std::abort();
  press();
  pthread_barrier_wait(&pressed);
  pthread_barrier_wait(&filled);
}

int others() {
  begin_sleeper();
  const std::size_t served = Blocks().fill(kOfSleeper);
  // Not those in its cache.
  return judge("others", served * kOfSleeper, freed_by_sleeper * kOfSleeper);
}

int refused() {
  Blocks blocks;
  constexpr std::size_t kCount = 40000;
  constexpr std::size_t kSize = 1000;
  for (std::size_t i = 0; i != kCount; ++i) subject::free(subject::malloc(kSize));
  if (!refuse_mappings()) return 77;
  const std::size_t free = blocks.fill(65536) * 65536;
  blocks.thin(SIZE_MAX);  // but the first
  for (int i = 0; i < 3; ++i)
    if (subject::malloc(100 * kMiB) != nullptr) return 1;
  return judge("refused", Blocks().fill(16) * 16, free);
}

int thread() {
  press(200 * kMiB);
  Blocks blocks;
  for (const std::size_t size : {200'000, 100'000, 10'000, 1000}) blocks.fill(size);
  blocks.free_all();
  pthread_t thread;
  const int error = pthread_create(&thread, nullptr, [](void* nothing) { return nothing; }, nullptr);
  std::printf("thread: %s\n", error == 0 ? "begins" : std::strerror(error));
  return error == 0 && pthread_join(thread, nullptr) == 0 && subject::check() == nullptr ? 0 : 1;
}

// So much data that the mappings below have their place only once the blocks have gone.
int data() {
  limit(RLIMIT_DATA, 300 * kMiB);
  Blocks blocks;
  for (std::size_t bytes = 0; bytes < 200 * kMiB; bytes += 8000) blocks.take(8000);
  blocks.free_all();
  malloc_trim(0);
  int served = 0;
  for (; served != 12; ++served)
    if (mmap(nullptr, 16 * kMiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED) break;
  std::printf("data: %d mappings of 12\n", served);
  return served == 12 && subject::check() == nullptr ? 0 : 1;
}

// The longest block, by doubling, that an empty heap gives.
std::size_t longest() {
  std::size_t size = 16;
  while (void* block = subject::malloc(size)) {
    subject::free(block);
    size *= 2;
  }
  return size / 2;
}

int again() {
  limit(RLIMIT_AS, 32 * kMiB);
  std::size_t lengths[4];
  for (std::size_t& length : lengths) {
    Blocks blocks;
    for (std::size_t size = kMiB; size >= 16; size /= 2) blocks.fill(size);
    blocks.free_all();
    length = longest();
    std::printf("again: %zu KiB\n", length >> 10);
  }
  for (const std::size_t length : lengths)
    if (length != lengths[0] || length == 0) return 1;
  return subject::check() == nullptr ? 0 : 1;
}

// What the crowd replaces: blocks of a page at most, which the others' slabs have free at every moment; some up to 30
// KB, for which there may be no room as the heap is full; and few that are so large that it soon is.
constexpr int kCrowd = 200;
constexpr int kRounds = 400;
constexpr std::size_t kPlaces = 5000;
constexpr std::size_t kSmall = 4096;
std::atomic<void*> table[kPlaces];
std::atomic<long> small_refused{0};
std::atomic<long> small_asked{0};

void* replace_at_random(void* number) {
  pthread_barrier_wait(&pressed);
  uint64_t random = reinterpret_cast<uintptr_t>(number) * 0x9E3779B97F4A7C15u + 7;
  for (int i = 0; i < kRounds; ++i) {
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    const std::size_t most = (random & 31) == 0 ? 3000000 : (random & 3) != 0 ? 300 : 30000;
    const std::size_t size = 8 + (random >> 24) % most;
    void* block = subject::malloc(size);
    if (size <= kSmall) {
      ++small_asked;
      small_refused += block == nullptr ? 1 : 0;
    }
    subject::free(table[(random >> 9) % kPlaces].exchange(block));
  }
  return nullptr;
}

int crowd() {
  pthread_barrier_init(&pressed, nullptr, kCrowd + 1);
  static pthread_t threads[kCrowd];
  for (int i = 0; i < kCrowd; ++i)
    if (pthread_create(&threads[i], nullptr, replace_at_random, reinterpret_cast<void*>(uintptr_t{1} + i)) != 0)
      std::abort();
  press();
  pthread_barrier_wait(&pressed);
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
  std::printf("crowd: refused %ld small ones of %ld\n", small_refused.load(), small_asked.load());
  return subject::check() == nullptr && small_refused == 0 ? 0 : 1;
}

}  // namespace

int main(int count, char** words) {
  const struct {
    const char* name;
    int (*run)();
  } modes[] = {{"records", records}, {"longer", longer}, {"others", others}, {"child", child}, {"refused", refused},
               {"thread", thread},   {"data", data},     {"again", again},   {"crowd", crowd}};
  std::setvbuf(stdout, nullptr, _IONBF, 0);
  subject::free(subject::malloc(10));
  for (const auto& mode : modes)
    if (count > 1 && std::strcmp(words[1], mode.name) == 0) return mode.run();
  return 64;
}
