// Storms that `snug record` must come through with every event: many threads or processes that begin and end, are
// cancelled, or load and unload libraries, all at once. storms MODE [ARGUMENT]
//
// What each does is the same each time, so that births, ends and forks can be told beforehand: the constants say.
#include <dlfcn.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

constexpr int kForkers = 4;
constexpr int kForksOfEach = 8;
constexpr int kThreadsAtOnce = 200;
constexpr int kRoundsOfEach = 20;
constexpr int kStarters = 6;
constexpr int kThreadsOfEach = 30;
constexpr int kLoaders = 4;
constexpr int kLoadsOfEach = 30;
constexpr int kCancelled = 60;

// The compiler must not see that nothing is done with a block.
template <class Block>
Block* used(Block* block) {
  asm volatile("" : "+r"(block) : : "memory");
  return block;
}

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "storms: %s: %s\n", what, std::strerror(errno));
  std::abort();
}

void churn(int rounds) {
  void* kept[16] = {};
  for (int round = 0; round < rounds; ++round) {
    void*& place = kept[round % 16];
    if (round % 5 == 0)
      place = used(std::realloc(place, static_cast<std::size_t>(20 + round % 700)));
    else
      std::free(place), place = used(std::calloc(1, static_cast<std::size_t>(8 + round % 300)));
  }
  for (void* block : kept) std::free(block);
}

// Threads without anything of the C++ library; their argument is their number.
template <std::size_t kCount>
class Threads {
 public:
  explicit Threads(void* (*routine)(void*)) {
    for (std::size_t i = 0; i < kCount; ++i) {
      errno = pthread_create(&threads_[i], nullptr, routine, reinterpret_cast<void*>(i));
      expect(errno == 0, "a thread");
    }
  }
  pthread_t operator[](std::size_t i) const { return threads_[i]; }
  void join() {
    for (const pthread_t thread : threads_) pthread_join(thread, nullptr);
  }

 private:
  std::array<pthread_t, kCount> threads_ = {};
};

int number_of(void* argument) { return static_cast<int>(reinterpret_cast<std::intptr_t>(argument)); }

// ---- forks: four threads fork while two allocate; children free what they have inherited, begin threads, fork,
// execute, are killed.

void* inherited = nullptr;
std::atomic<bool> is_over = false;

void* churn_once(void*) {
  churn(50);
  return nullptr;
}

[[noreturn]] void be_a_child(int number) {
  std::free(inherited);
  churn(40 + number);
  if (number % 4 == 0) {
    const pid_t grandchild = fork();
    if (grandchild == 0) churn(30);
    if (grandchild > 0) waitpid(grandchild, nullptr, 0);
  } else if (number % 4 == 1) {
    Threads<1>(churn_once).join();
  } else if (number % 4 == 2) {
    execl("/proc/self/exe", "storms", "churn", "30", nullptr);
  } else {
    raise(SIGKILL);
  }
  _exit(0);
}

void* fork_often(void*) {
  for (int number = 0; number < kForksOfEach; ++number) {
    const pid_t child = fork();
    expect(child >= 0, "fork");
    if (child == 0) be_a_child(number);
    churn(20);
    int status = 0;
    expect(waitpid(child, &status, 0) == child, "waitpid");
    const bool is_killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    expect(number % 4 == 3 ? is_killed : status == 0, "a child ended otherwise");
  }
  return nullptr;
}

void* churn_until_over(void*) {
  while (!is_over.load()) {
    churn(10);
    usleep(100);  // what is written here must be read by the test
  }
  return nullptr;
}

void storm_of_forks() {
  inherited = used(std::malloc(777));
  Threads<2> others(churn_until_over);
  Threads<kForkers>(fork_often).join();
  char program[] = "storms";
  char mode[] = "churn";
  char rounds[] = "30";
  char* const arguments[] = {program, mode, rounds, nullptr};
  pid_t spawned = 0;
  errno = posix_spawn(&spawned, "/proc/self/exe", nullptr, nullptr, arguments, environ);
  expect(errno == 0 && waitpid(spawned, nullptr, 0) == spawned, "posix_spawn");
  is_over.store(true);
  others.join();
  std::free(inherited);
}

// ---- threads: 200 live at once and pass blocks on to each other.

pthread_barrier_t all_are_here;
std::array<std::atomic<void*>, kThreadsAtOnce> places = {};

void* pass_on(void* argument) {
  const int number = number_of(argument);
  pthread_barrier_wait(&all_are_here);
  for (int round = 0; round < kRoundsOfEach; ++round) {
    void* block = used(std::malloc(static_cast<std::size_t>(10 + number + round)));
    block = places[static_cast<std::size_t>(number + 1) % kThreadsAtOnce].exchange(block);
    if (round % 3 == 0 && block != nullptr) block = used(std::realloc(block, 500));
    std::free(block);
    std::free(places[static_cast<std::size_t>(number)].exchange(nullptr));
    if (round % 4 == 0) sched_yield();
  }
  pthread_barrier_wait(&all_are_here);
  return nullptr;
}

void storm_of_threads() {
  pthread_barrier_init(&all_are_here, nullptr, kThreadsAtOnce);
  Threads<kThreadsAtOnce>(pass_on).join();
  for (auto& place : places) std::free(place.load());
}

// ---- ends: threads end by returning or by pthread_exit, joined or detached, with destructors of both kinds that
// allocate; what they leave behind others free.

pthread_key_t key;
std::atomic<void*> left_behind = nullptr;

char* block_that_says(char what) {
  char* const block = used(static_cast<char*>(std::malloc(41)));
  *block = what;
  return block;
}

// Of the second round of destructors it is the last.
void at_end(void* block) {
  const bool is_first_round = *static_cast<char*>(block) == '1';
  std::free(used(block));
  if (is_first_round) pthread_setspecific(key, block_that_says('2'));
}

thread_local struct AtThreadEnd {
  void* block = used(std::malloc(42));
  ~AtThreadEnd() {
    std::free(block);
    churn(5);
  }
} at_thread_end;

void* end_soon(void* argument) {
  asm volatile("" : : "r"(at_thread_end.block));
  pthread_setspecific(key, block_that_says('1'));
  std::free(left_behind.exchange(used(std::malloc(43))));
  if (number_of(argument) % 2 == 0) pthread_exit(nullptr);
  return nullptr;
}

void* start_often(void*) {
  for (std::intptr_t number = 0; number < kThreadsOfEach; ++number) {
    pthread_t thread{};
    errno = pthread_create(&thread, nullptr, end_soon, reinterpret_cast<void*>(number));
    expect(errno == 0, "a thread");
    if (number % 3 == 0)
      pthread_detach(thread);
    else
      pthread_join(thread, nullptr);
  }
  return nullptr;
}

// The kernel's count: detached threads have ended too.
void wait_for_all_threads() {
  struct stat tasks{};
  while (stat("/proc/self/task", &tasks) == 0 && tasks.st_nlink > 3) usleep(100);
}

void storm_of_ends() {
  pthread_key_create(&key, at_end);
  Threads<kStarters>(start_often).join();
  wait_for_all_threads();
  std::free(left_behind.load());
}

// ---- libraries: four threads load three libraries and unload them, call what allocates for a thread in them, and ask
// for what is not there.

const char* folder = nullptr;

void* load_often(void* argument) {
  for (int round = 0; round < kLoadsOfEach; ++round) {
    char path[4096];
    std::snprintf(path, sizeof path, "%s/library%d.so", folder, (number_of(argument) + round) % 3);
    void* const library = dlopen(path, round % 2 == 0 ? RTLD_NOW : RTLD_LAZY);
    expect(library != nullptr, path);
    void (*allocate)(void) = nullptr;
    *reinterpret_cast<void**>(&allocate) = dlsym(library, "allocate_here");
    expect(allocate != nullptr, "allocate_here");
    allocate();
    expect(dlsym(library, "none_such") == nullptr && dlerror() != nullptr, "what is not there");
    expect(dlopen("/none/such.so", RTLD_NOW) == nullptr && dlerror() != nullptr, "a library that is not there");
    dlclose(library);
    churn(10);
  }
  return nullptr;
}

void storm_of_libraries() { Threads<kLoaders>(load_often).join(); }

// ---- cancellation: threads that allocate without end, and that free what they have when they are cancelled: where
// they ask for it, or, if they do not allocate, anywhere.

std::atomic<int> running = 0;

void free_block(void* place) { std::free(*static_cast<void**>(place)); }

// A function of its own without anything to be cleaned up: at most of its instructions nothing could be.
[[gnu::noinline]] void spin_until_cancelled() {
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, nullptr);
  for (;;) asm volatile("pause");
}

// Through pages of the stack that nobody has unwound yet.
[[gnu::noinline]] void* reallocate_far_down(void* block, int frames) {
  char page[4096];
  used(page);
  return used(frames == 0 ? std::realloc(block, 200) : reallocate_far_down(block, frames - 1));
}

void sleep_uncancelled() {
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);
  usleep(200);
  pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, nullptr);
}

void* allocate_until_cancelled(void* argument) {
  void* block = used(std::malloc(100));
  pthread_cleanup_push(free_block, &block);
  ++running;
  if (number_of(argument) % 3 == 0) spin_until_cancelled();
  // Else the first threads would have recorded more, by the time that the last one is there, than a test reads.
  while (running.load() < kCancelled) sleep_uncancelled();
  for (;;) {
    churn(4);
    if (number_of(argument) % 3 == 2) pthread_cancel(pthread_self());  // what follows must not be the point
    block = used(reallocate_far_down(block, 10));
    churn(4);
    if (number_of(argument) % 3 == 1) {
      usleep(200);
    } else {
      sleep_uncancelled();
      pthread_testcancel();
    }
  }
  pthread_cleanup_pop(0);
  return nullptr;
}

void storm_of_cancellations() {
  Threads<kCancelled> threads(allocate_until_cancelled);
  while (running.load() < kCancelled) usleep(100);
  for (std::size_t i = 0; i < kCancelled; ++i) {
    pthread_cancel(threads[i]);
    churn(10);
  }
  threads.join();
}

}  // namespace

int main(int count, char** arguments) {
  const std::string mode = count > 1 ? arguments[1] : "";
  const char* const argument = count > 2 ? arguments[2] : "";
  if (mode == "forks") {
    storm_of_forks();
  } else if (mode == "threads") {
    storm_of_threads();
  } else if (mode == "ends") {
    storm_of_ends();
  } else if (mode == "libraries") {
    folder = argument;
    storm_of_libraries();
  } else if (mode == "cancellations") {
    storm_of_cancellations();
  } else if (mode == "churn") {
    churn(std::atoi(argument));
  } else {
    std::fprintf(stderr, "storms: no mode '%s'\n", mode.c_str());
    return 2;
  }
  return 0;
}
