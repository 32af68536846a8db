// What the tests of `snug record` record: each way to allocate and free, and each way for threads and processes to
// begin and end. subject MODE [NUMBER]
#include <dlfcn.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <new>
#include <string>
#include <thread>
#include <vector>

namespace {

// The compiler must not see that nothing is done with a block.
template <class Block>
Block* used(Block* block) {
  asm volatile("" : "+r"(block) : : "memory");
  return block;
}

// Each function once, with sizes of its own: 100 + n, and what is freed is told in the same order.
void call_family() {
  std::free(used(std::malloc(101)));
  std::free(used(std::calloc(2, 51)));
  void* grown = used(std::realloc(nullptr, 103));
  grown = used(std::realloc(grown, 1 << 20));
  std::free(used(reallocarray(grown, 2, 52)));
  std::free(used(std::aligned_alloc(64, 128)));
  std::size_t odd = 48;  // no power of two, which Clang would refuse if it saw it
  std::free(used(memalign(*used(&odd), 106)));
  void* block = nullptr;
  if (posix_memalign(&block, 4096, 107) != 0) std::abort();
  if (malloc_usable_size(used(block)) < 107) std::abort();
  std::free(block);
  std::free(used(valloc(108)));
  std::free(used(pvalloc(109)));
  std::free(nullptr);
  if (used(std::malloc(PTRDIFF_MAX)) != nullptr) std::abort();
  malloc_trim(110);

  constexpr std::align_val_t kAligned{64};
  ::operator delete(used(::operator new(201)));
  ::operator delete[](used(::operator new[](202)));
  ::operator delete(used(::operator new(203, std::nothrow)), std::nothrow);
  ::operator delete[](used(::operator new[](204, std::nothrow)), std::nothrow);
  ::operator delete(used(::operator new(205, kAligned)), kAligned);
  ::operator delete[](used(::operator new[](206, kAligned)), kAligned);
  ::operator delete(used(::operator new(207, kAligned, std::nothrow)), kAligned, std::nothrow);
  ::operator delete[](used(::operator new[](208, kAligned, std::nothrow)), kAligned, std::nothrow);
  ::operator delete(used(::operator new(209)), 209);
  ::operator delete[](used(::operator new[](210)), 210);
  ::operator delete(used(::operator new(211, kAligned)), 211, kAligned);
  ::operator delete[](used(::operator new[](212, kAligned)), 212, kAligned);

  void* map = mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  map = mremap(map, 8192, 16384, MREMAP_MAYMOVE);
  munmap(map, 16384);
}

// Threads that pass blocks on to each other, in a ring of them: what one allocates the next one frees or grows.
void pass_blocks(int threads, int rounds) {
  std::deque<std::atomic<void*>> places(static_cast<std::size_t>(threads));
  std::barrier meeting(threads);
  std::vector<std::thread> running;
  for (int i = 0; i < threads; ++i)
    running.emplace_back([&places, &meeting, threads, rounds, i] {
      auto& mine = places[static_cast<std::size_t>(i)];
      auto& next = places[static_cast<std::size_t>((i + 1) % threads)];
      for (int round = 0; round < rounds; ++round) {
        if (void* block = mine.exchange(nullptr); block != nullptr)
          std::free(used(round % 3 == 0 ? std::realloc(block, 300) : block));
        // Between two meetings each thread passes a block on, even where one could do its rounds in one slice of a
        // processor's time: what a thread stored last is still there, or its neighbour has had it.
        if (round % 8 == 0) meeting.arrive_and_wait();
        std::free(next.exchange(used(std::malloc(static_cast<std::size_t>(16 + round % 200)))));
      }
    });
  for (std::thread& thread : running) thread.join();
  for (auto& place : places) std::free(place.load());
}

void churn(int rounds) {
  void* kept[64] = {};
  for (int round = 0; round < rounds; ++round) {
    auto& place = kept[round % 64];
    std::free(place);
    place = used(std::malloc(static_cast<std::size_t>(8 + round % 500)));
  }
  for (void* block : kept) std::free(block);
}

// Processes that fork others, some of which end at once, while a second thread allocates.
void storm(int processes) {
  std::atomic<bool> is_over = false;
  std::thread other([&is_over] {
    while (!is_over.load()) churn(10);
  });
  char* const inherited = used(static_cast<char*>(std::malloc(777)));
  for (int i = 0; i < processes; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      std::free(inherited);
      churn(20 + i);
      if (i % 3 == 0) raise(SIGKILL);
      _exit(0);
    }
    waitpid(child, nullptr, 0);
  }
  is_over.store(true);
  other.join();
  std::free(inherited);
}

struct AtBothEnds {
  std::vector<int> values = std::vector<int>(31);
  ~AtBothEnds() { std::free(used(std::malloc(31337))); }
};
AtBothEnds at_both_ends;

// The ring is full when the signal comes: its reader, the parent, sleeps until then.
sigjmp_buf behind_the_wait;
bool is_left_by_exit = false;

struct ManyBlocks {
  std::vector<void*> blocks;
  ~ManyBlocks() {
    for (void* block : blocks) std::free(block);
  }
};
ManyBlocks many_blocks;

void leave_wait(int) {
  kill(getppid(), SIGCONT);
  if (is_left_by_exit) std::exit(0);
  siglongjmp(behind_the_wait, 1);
}

void wait_and_leave(int events) {
  for (int i = 0; is_left_by_exit && i < events; ++i) many_blocks.blocks.push_back(used(std::malloc(16)));
  std::signal(SIGALRM, leave_wait);
  if (sigsetjmp(behind_the_wait, 1) != 0) return churn(events);
  kill(getppid(), SIGSTOP);
  const itimerval once = {.it_interval = {}, .it_value = {.tv_sec = 0, .tv_usec = 500'000}};
  setitimer(ITIMER_REAL, &once, nullptr);
  for (;;) churn(1000);
}

}  // namespace

// Functions that stacks name. None of them ends in a call, which would leave no frame.
extern "C" {

[[gnu::noinline]] void* inner_allocation(std::size_t bytes) { return used(std::malloc(*used(&bytes))); }

[[gnu::noinline]] void* outer_allocation(std::size_t bytes) { return used(inner_allocation(bytes)); }

[[gnu::noinline]] void* deep_allocation(int depth) {
  return used(depth == 0 ? inner_allocation(6005) : deep_allocation(depth - 1));
}

}  // extern "C"

namespace {

// Of these the first three have one stack.
void allocate_with_stacks(int depth) {
  for (int i = 0; i < 3; ++i) std::free(outer_allocation(6001));
  std::free(inner_allocation(6002));
  void* const grown = used(std::realloc(outer_allocation(6003), 6004));
  std::free(grown);
  std::free(deep_allocation(depth));
  std::size_t odd = 48;
  std::free(used(memalign(*used(&odd), 6006)));
  ::operator delete(used(::operator new(6007)));
}

// The child's stacks are those that its parent has had.
void allocate_in_both_processes() {
  for (int i = 0; i < 2; ++i) {
    const pid_t child = i == 1 ? fork() : 0;
    if (child != 0) {
      waitpid(child, nullptr, 0);
      return;
    }
    allocate_with_stacks(1);
  }
}

// While the dynamic linker holds its lock, another thread allocates where nobody has yet, and then this one does.
int allocate_while_objects_are_listed(dl_phdr_info*, std::size_t, void* other) {
  *static_cast<std::thread*>(other) = std::thread([] { std::free(outer_allocation(6008)); });
  usleep(200000);
  std::free(inner_allocation(6009));
  return 1;
}

void list_objects() {
  std::thread other;
  dl_iterate_phdr(allocate_while_objects_are_listed, &other);
  other.join();
}

// Each of the libraries allocates and is unloaded before the next one comes, to the same place as a rule.
void call_libraries(char** paths, int count) {
  for (int i = 0; i < count; ++i) {
    void* const library = dlopen(paths[i], RTLD_NOW);
    if (library == nullptr) std::exit(1);
    reinterpret_cast<void (*)()>(dlsym(library, "allocate_here"))();
    dlclose(library);
  }
}

void grow(int rounds) {
  void* block = nullptr;
  for (int round = 0; round < rounds; ++round)
    block = used(std::realloc(block, static_cast<std::size_t>(10 + round % 5000)));
  std::free(block);
}

// A thread that is there before the recording goes on, and comes first then.
std::atomic<int> whose_turn = 0;
std::thread other_thread;

void begin_other_thread(int rounds) {
  other_thread = std::thread([rounds] {
    while (whose_turn.load() == 0) std::this_thread::yield();
    std::free(used(std::malloc(9)));
    whose_turn.store(2);
    grow(rounds);
  });
}

void grow_in_both_threads(int rounds) {
  whose_turn.store(1);
  while (whose_turn.load() == 1) std::this_thread::yield();
  grow(rounds);
  other_thread.join();
}

thread_local struct AtThreadEnd {
  void* block = used(std::malloc(41));
  ~AtThreadEnd() { std::free(block); }
} at_thread_end;

}  // namespace

int main(int count, char** arguments) {
  const std::string mode = count > 1 ? arguments[1] : "";
  const int number = count > 2 ? std::atoi(arguments[2]) : 0;
  if (mode == "family") {
    call_family();
  } else if (mode == "threads") {
    pass_blocks(number, 1 + 20000 / number);
  } else if (mode == "short-threads") {
    for (int i = 0; i < number; ++i) std::thread([] { asm volatile("" : : "r"(at_thread_end.block)); }).join();
  } else if (mode == "churn") {
    churn(number);
  } else if (mode == "churn-for-ever") {
    for (;;) churn(1000);
  } else if (mode == "storm") {
    storm(number);
  } else if (mode == "exec") {
    churn(number);
    const std::string less = std::to_string(number - 1);
    if (number > 0) execl("/proc/self/exe", arguments[0], "exec", less.c_str(), nullptr);
  } else if (mode == "exit-in-handler" || mode == "jump-from-handler") {
    is_left_by_exit = mode == "exit-in-handler";
    wait_and_leave(number);
  } else if (mode == "stacks") {
    allocate_with_stacks(number);
  } else if (mode == "stacks-in-listing") {
    list_objects();
  } else if (mode == "stacks-in-libraries") {
    call_libraries(arguments + 2, count - 2);
  } else if (mode == "stacks-in-child") {
    allocate_in_both_processes();
  } else if (mode == "killed") {
    std::vector<std::thread> running;
    for (int i = 0; i < 3; ++i)
      running.emplace_back([] {
        for (;;) churn(1000);
      });
    churn(number);
    raise(SIGKILL);
  } else if (mode == "paused") {
    void* kept = nullptr;
    std::puts("ready");
    std::fflush(stdout);
    for (int step; (step = std::getchar()) != EOF;) {
      if (step == '\n') continue;
      if (step == 's')
        std::system("ls / > /dev/null");
      else if (step == 'a')
        std::printf("at %p, ", kept = used(std::malloc(5001)));
      else if (step == 'A')
        std::printf("at %p, ", kept = used(std::malloc(5009)));
      else if (step == 'f')
        std::free(kept);
      else if (step == 'b')
        begin_other_thread(number);
      else if (step == 'g')
        grow_in_both_threads(number);
      else
        churn(number);
      std::puts("done");
      std::fflush(stdout);
    }
  } else {
    std::fprintf(stderr, "subject: no mode '%s'\n", mode.c_str());
    return 2;
  }
  return 0;
}
