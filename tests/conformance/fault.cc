// fault.cc: the OS refuses. The function below stands in the place of the static library's system calls and makes the
// Nth mmap, munmap, mremap, mprotect or madvise fail, once or from then on, for every N up to 200.
//
// Each N runs in a child with an unused heap, so that the Nth call is the Nth of a heap's life. The child accepts NULL
// with ENOMEM, and nothing else: contents stay, errno survives free, and once the OS relents every request is served
// again and snug_check(1) reports nothing. Usage: fault FIRST LAST
#include "pattern.h"

#include <snug/snug.h>

#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <iterator>

namespace {

enum class Mode { kOff, kOnce, kFromThenOn };

std::atomic<Mode> mode = Mode::kOff;
std::atomic<int> failing_call = 0;
std::atomic<int> calls_seen = 0;

bool refuse() {
  const Mode now = mode.load();
  if (now == Mode::kOff) return false;
  const int call = ++calls_seen;
  return now == Mode::kOnce ? call == failing_call : call >= failing_call;
}

}  // namespace

// Defined in the executable, this is what libsnug.a's references bind to (src/base/system_call.h).
namespace snug {

long call_kernel(long number, long first, long second, long third, long fourth, long fifth, long sixth);

long call_kernel(long number, long first, long second, long third, long fourth, long fifth, long sixth) {
  const int before = errno;
  switch (number) {
    case SYS_mmap:
    case SYS_munmap:
    case SYS_mremap:
    case SYS_mprotect:
    case SYS_madvise:
      if (refuse()) return -ENOMEM;
  }
  long answer = syscall(number, first, second, third, fourth, fifth, sixth);
  if (answer == -1) answer = -errno;
  errno = before;
  return answer;
}

}  // namespace snug

namespace {

enum Verdict { kFine = 0, kWrongErrno = 10, kDamaged, kErrnoLost, kNotServedAgain, kBroken, kNotZero, kMisaligned };

struct Block {
  void* address = nullptr;
  std::size_t size = 0;
  std::uint64_t seed = 0;
};

constexpr int kBlocks = 240;
constexpr std::size_t kSizes[] = {16, 100, 700, 3000, 9000, 40000, 120000, 300000, 1500000, 3000000};
Block blocks[kBlocks];

[[noreturn]] void give(Verdict verdict) { _exit(verdict); }

void expect_enomem() {
  if (errno != ENOMEM) give(kWrongErrno);
}

void release(Block& block) {
  if (block.address == nullptr) return;
  if (!pattern::intact(block.address, block.size, block.seed)) give(kDamaged);
  errno = 4711;
  snug_free(block.address);
  if (errno != 4711) give(kErrnoLost);
  block.address = nullptr;
}

void acquire(Block& block, std::size_t size, int way) {
  release(block);
  errno = 0;
  int error = 0;
  switch (way % 4) {
    case 0:
      block.address = snug_malloc(size);
      break;
    case 1:
      block.address = snug_calloc(1, size);
      break;
    case 2:
      block.address = snug_aligned_alloc(std::size_t{64} << (size % 7), size);
      break;
    default:
      error = snug_posix_memalign(&block.address, 4096, size);
      if (error != 0) {
        if (error != ENOMEM || block.address != nullptr) give(kWrongErrno);
        errno = ENOMEM;
      }
  }
  if (block.address == nullptr) return expect_enomem();
  if (way % 4 == 1 && !pattern::zeroed(block.address, size)) give(kNotZero);
  if (way % 4 == 3 && !pattern::aligned(block.address, 4096)) give(kMisaligned);
  block.size = size;
  pattern::fill(block.address, size, block.seed);
}

void resize(Block& block, std::size_t size) {
  if (block.address == nullptr) return;
  errno = 0;
  void* moved = snug_realloc(block.address, size);
  if (moved == nullptr) {
    expect_enomem();
    if (!pattern::intact(block.address, block.size, block.seed)) give(kDamaged);
    return;
  }
  block.address = moved;
  if (!pattern::intact(moved, size < block.size ? size : block.size, block.seed)) give(kDamaged);
  block.size = size;
  pattern::fill(moved, size, block.seed);
}

// Into its room, and beyond.
void grow(Block& block) {
  acquire(block, 300000, 0);
  for (std::size_t size = 2500000; size <= 13000000; size += 1500000) resize(block, size);
  release(block);
}

void work(std::uint64_t seed, int first, int last) {
  pattern::Random random(seed);
  for (int round = 0; round < 500; ++round) {
    Block& block = blocks[first + static_cast<int>(random.below(static_cast<std::size_t>(last - first)))];
    // The large are rarer, or page faults would take all the time.
    const std::size_t size = kSizes[random.below(random.below(12) == 0 ? std::size(kSizes) : 7)] + random.below(16);
    switch (random.below(8)) {
      case 0:
        release(block);
        break;
      case 1:
      case 2:
        resize(block, size);
        break;
      default:
        acquire(block, size, round);
    }
    if (round % 100 == 99) snug_malloc_trim(0);
  }
}

void* work_in_thread(void*) {
  work(2, kBlocks / 2, kBlocks);
  return nullptr;
}

[[noreturn]] void live_under_fault(Mode how, int call, int report) {
  alarm(600);
  for (std::uint64_t i = 0; i < kBlocks; ++i) blocks[i].seed = i;
  failing_call = call;
  mode = how;
  grow(blocks[0]);
  work(1, 0, kBlocks / 2);
  pthread_t thread;
  // The thread's own start is libc's affair; what snug does for a new thread is ours.
  if (pthread_create(&thread, nullptr, work_in_thread, nullptr) != 0) give(kNotServedAgain);
  pthread_join(thread, nullptr);
  for (int i = 0; i < kBlocks; i += 2) release(blocks[i]);
  snug_malloc_trim(0);
  mode = Mode::kOff;
  const int seen = calls_seen;
  if (write(report, &seen, sizeof seen) != sizeof seen) give(kBroken);
  for (const std::size_t size : kSizes) {
    Block again{nullptr, 0, size};
    acquire(again, size, 0);
    if (again.address == nullptr) give(kNotServedAgain);
    resize(again, size * 3);
    release(again);
  }
  work(3, 0, kBlocks);
  for (Block& block : blocks) release(block);
  if (const char* broken = snug_check(1)) {
    std::fprintf(stderr, "fault: %s\n", broken);
    give(kBroken);
  }
  give(kFine);
}

const char* meaning(int verdict) {
  switch (verdict) {
    case kWrongErrno:
      return "refused without ENOMEM";
    case kDamaged:
      return "contents damaged";
    case kErrnoLost:
      return "free changed errno";
    case kNotServedAgain:
      return "not served after the OS relented";
    case kBroken:
      return "snug_check complains";
    case kNotZero:
      return "calloc not zeroed";
    case kMisaligned:
      return "misaligned";
    default:
      return "crashed";
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 64;
  const int first = std::atoi(argv[1]);
  const int last = std::atoi(argv[2]);
  int failures = 0;
  int reached = 0;
  for (const Mode how : {Mode::kOnce, Mode::kFromThenOn})
    for (int call = first; call <= last; ++call) {
      int channel[2];
      if (pipe(channel) != 0) return 65;
      const pid_t pid = fork();
      if (pid == 0) live_under_fault(how, call, channel[1]);
      close(channel[1]);
      int seen = 0;
      const bool reported = read(channel[0], &seen, sizeof seen) == sizeof seen;
      if (reported && seen >= call) ++reached;
      close(channel[0]);
      int status = 0;
      waitpid(pid, &status, 0);
      // The work makes fewer calls than this in all: no later call can be refused either.
      if (reported && seen < call && status == 0) break;
      if (status == 0) continue;
      ++failures;
      std::fprintf(
          stderr, "fault: call %d refused%s: %s (signal %d)\n", call, how == Mode::kOnce ? "" : " and all after it",
          WIFEXITED(status) ? meaning(WEXITSTATUS(status)) : "crashed", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    }
  std::printf("refusals injected: %d of at most %d, failures: %d\n", reached, 2 * (last - first + 1), failures);
  // An allocator that asks the OS for little may never make a 200th call; but one that makes fewer than ten in such
  // a workload is not reaching the wrappers.
  if (first <= 10 && reached < 20) {
    std::fprintf(stderr, "fault: the library's OS calls do not pass through the wrappers\n");
    return 1;
  }
  return failures == 0 ? 0 : 1;
}
