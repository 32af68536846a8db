// idle.cc: a program that frees all it has, then calls no allocator. Where there is a background thread its memory must
// come back to the OS; where there is none, it must not.
//
// When the background thread has the processor is up to the machine. What it must do is waited for, far longer than it
// takes; what it must not do is looked at after a time in which it would have done it on most machines.
//
// Usage: idle ALLOCATOR MODE. Exit status 0 means that it went as the mode says; each figure is printed. Under a
// sanitizer the resident memory is mostly the sanitizer's, so that snug's own account of it is asked instead.
#include "idle_load.h"
#include "idle_sight.h"
#include "idle_threads.h"
#include "subject.h"
#include "threads.h"

#include <dlfcn.h>
#include <pthread.h>
#include <spawn.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

extern char** environ;

using namespace idle_load;
using namespace idle_sight;
using namespace idle_threads;

namespace {

// Of two seconds each: as long as comes_true() waits by itself.
constexpr int kLongLooks = 300;

std::atomic<int> threads_refused;
std::atomic<bool> refusing;

// What nobody has missed goes at once, but for parts of huge pages that hold a cached block, which wait for their age:
// up to 20 MiB, on a busy machine. The second burst misses it, and leaves as much as may be kept, which nobody gives
// back.
bool stays() {
  const std::size_t peak = fill();
  empty();
  const std::size_t least = subject::kSanitized ? 50 : 10;  // percent; with sanitizers the burst is of 52 MiB
  if (!expect_below(peak, least)) return false;
  // However long the second burst takes, none of it is old before the wait begins.
  if (!subject::set("purge_after:86400000")) return false;
  fill();
  empty();
  if (!subject::set("purge_after:200")) return false;
  sleep_for(kLongEnough);
  return !expect_below(peak, least);
}

// With nothing left to give back it does not run at all, until there is something again.
bool sleeps() {
  if (!comes_back()) return false;
  const char* status = file_of_thread("status");
  const auto wakeups = [&] { return number_in(status, "\nvoluntary_ctxt_switches:"); };
  long before = -1;
  const auto has_slept = [&] {
    before = wakeups();
    sleep_for(2000);
    std::printf("%ld wake-ups in 2 s\n", wakeups() - before);
    return wakeups() == before;
  };
  if (!comes_true(has_slept, kLongLooks) || before < 0) return false;
  // Every signal but SIGKILL, SIGSTOP and libc's own two.
  const long blocked = number_in(status, "SigBlk:", 16);
  if ((blocked | 0x40100 | 0x180000000) != -1) return std::printf("blocked: %lx\n", blocked), false;
  return comes_back() && wakeups() != before;
}

// A child that fills and empties its own heap; and one that empties what it inherited.
bool in_child() {
  subject::free(made(kLargeBlock));
  if (!comes_to_exist()) return std::puts("no thread in the parent"), false;
  pid_t child = fork();
  if (child == 0) _exit(!exists() && comes_back() && exists() ? 0 : 1);
  if (result_of(child) != 0) return false;
  const std::size_t peak = fill_again();
  child = fork();
  if (child == 0) {
    empty();
    subject::free(made(kLargeBlock));
    _exit(comes_below(peak, 5) ? 0 : 1);
  }
  const bool good = result_of(child) == 0;
  empty();
  return good;
}

bool has_purged(std::size_t bytes) { return stats().bytes_purged > bytes; }

// A thread ends and leaves one block in 16 KiB alive: its heap has no thread, and nothing is ever freed to it.
bool abandoned() {
  pthread_t thread;
  constexpr std::size_t kSize = 256;
  constexpr std::size_t kEvery = 64;
  constexpr std::size_t kBlocks = sizeof places / sizeof *places;
  const auto leave = [](void*) -> void* {
    for (void*& block : places) block = made(kSize);
    load.small_count = memory_held();
    for (std::size_t i = 0; i < kBlocks; ++i)
      if (i % kEvery != 0) subject::free(places[i]);
    return nullptr;
  };
  if (pthread_create(&thread, nullptr, leave, nullptr) != 0 || pthread_join(thread, nullptr) != 0) return false;
  return subject::kSanitized ? comes_true([] { return has_purged(kBlocks * kSize / 2); })
                             : comes_below(load.small_count, 60);
}

// Holes in the slabs of a thread that goes on working with other sizes.
bool reaches_who_works() {
  Companion companion;
  constexpr std::size_t kSize = 256;
  constexpr std::size_t kBlocks = sizeof places / sizeof *places;
  for (void*& block : places) block = made(kSize);
  const std::size_t peak = memory_held();
  for (std::size_t i = 0; i < kBlocks; ++i)
    if (i % 64 != 0) subject::free(places[i]);
  static void* others[4096];
  const auto works = [peak] {
    const std::time_t end = std::time(nullptr) + 2;
    for (std::size_t i = 0; std::time(nullptr) < end; ++i) {
      for (void*& block : others) block = made(32 + i % 32);
      for (void* block : others) subject::free(block);
    }
    return subject::kSanitized ? has_purged(kBlocks * kSize / 2) : expect_below(peak, 60);
  };
  return comes_true(works, kLongLooks);
}

// main's thread may be about to ask, and run again only when this one has allocated all that it does.
void* run_while_refused(void*) {
  for (std::size_t i = 0; i < 1000; ++i) subject::free(made(100 * i));
  comes_true([] { return threads_refused != 0; });
  refusing = false;
  for (std::size_t i = 0; i < 1000; ++i) subject::free(made(100 * i));
  return nullptr;
}

// Refused once, for good; the program does not notice.
bool refused_once() {
  const std::size_t own = thread_count();
  refusing = true;
  pthread_t thread;
  if (pthread_create(&thread, nullptr, run_while_refused, nullptr) != 0 || pthread_join(thread, nullptr) != 0)
    return false;
  std::printf("asked %d times\n", threads_refused.load());
  return threads_refused == 1 && has_threads(own);
}

bool small_programs_have_none() {
  for (std::size_t i = 0; i < 1000; ++i) subject::free(made(i + 1));
  sleep_for(300);
  return !exists();
}

// The OS refuses the thread for a while; the program does not notice. It is asked for once in a second at most.
bool refused() {
  refusing = true;
  const long begin = tenths_of_seconds();
  subject::free(made(kLargeBlock));
  for (std::size_t i = 0; i < 1000; ++i) subject::free(subject::malloc(kLargeBlock + i * 4096));
  const long tenths = tenths_of_seconds() - begin;
  std::printf("asked %d times in %ld tenths of a second\n", threads_refused.load(), tenths);
  if (threads_refused == 0 || threads_refused > 2 + tenths / 10 || exists()) return false;
  refusing = false;
  sleep_for(1100);
  return comes_back() && exists();
}

// The process must end with the last thread of the program, though main's went first.
[[noreturn]] void main_leaves() {
  subject::free(made(kLargeBlock));
  if (!comes_to_exist()) std::_Exit(1);
  pthread_t thread;
  const auto outlive = [](void*) -> void* {
    sleep_for(300);
    for (int i = 0; i < 100; ++i) subject::free(made(kLargeBlock));
    return nullptr;
  };
  if (pthread_create(&thread, nullptr, outlive, nullptr) != 0) std::_Exit(2);
  pthread_detach(thread);
  pthread_exit(nullptr);
}

// Processes that end at once, in the middle of what the thread does.
bool exits(char* program, char* allocator) {
  char mode[] = "exit";
  char* const arguments[] = {program, allocator, mode, nullptr};
  for (int i = 0; i < 25; ++i) {
    pid_t child = -1;
    if (posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, arguments, environ) != 0) return false;
    if (const int result = result_of(child); result != 0) return std::printf("run %d: %d\n", i, result), false;
  }
  return true;
}

struct Static {
  ~Static() {
    for (std::size_t i = 0; i < 20; ++i) subject::free(made(kLargeBlock + i * 4096));
  }
};

bool exit_soon() {
  static Static last_to_go;
  for (int i = 0; i < 20; ++i) places[i] = made(kLargeBlock);
  for (int i = 0; i < 20; ++i) subject::free(places[i]);
  sleep_for(number_in("/proc/self/stat", "") % 8 * 30);
  return true;
}

}  // namespace

// Stands before libc's, for snug too.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*),
                              void* argument) noexcept {
  if (body != run_while_refused) usleep(300000);
  if (refusing.load() && body != run_while_refused) {
    ++threads_refused;
    return EAGAIN;
  }
  ++threads_created;
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const Create create = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  return create(thread, attributes, body, argument);
}

int main(int argc, char** argv) {
  if (argc != 3 || std::strcmp(argv[1], subject::name()) != 0) {
    std::fprintf(stderr, "idle: malloc is served by %s\n", subject::object());
    return 3;
  }
  std::setvbuf(stdout, nullptr, _IONBF, 0);
  const char* mode = argv[2];
  const auto is = [mode](const char* name) { return std::strcmp(mode, name) == 0; };
  if (is("main_leaves")) main_leaves();
  const bool good = is("comes_back")     ? comes_back()
                    : is("stays")        ? stays()
                    : is("sleeps")       ? sleeps()
                    : is("in_child")     ? in_child()
                    : is("abandoned")    ? abandoned()
                    : is("small")        ? small_programs_have_none()
                    : is("refused")      ? refused()
                    : is("auto")         ? comes_with_threads()
                    : is("busy")         ? reaches_who_works()
                    : is("refused_once") ? refused_once()
                    : is("alone")        ? forks_alone()
                    : is("unshares")     ? unshares()
                    : is("cloned")       ? child_of_clone_calls()
                    : is("kept")         ? keeps_what_was_in_use()
                    : is("bursts")       ? gives_back_after_bursts()
                    : is("one_by_one")   ? does_not_come_with_each_thread()
                    : is("silent")       ? leaves_after_silent_threads()
                    : is("beside")       ? serves_beside_silent_threads()
                    : is("exits")        ? exits(argv[0], argv[1])
                    : is("exit")         ? exit_soon()
                                         : false;
  return good ? 0 : 1;
}
