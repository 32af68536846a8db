// fork_stdio.cc: forks while other threads use stdio, and allocate inside it.
//
// fork() takes the lock of libc's list of streams. A thread that holds it (fflush of all streams, fopen) may wait for
// the lock of one stream, and the holder of that one may wait for malloc. Fork handlers that take malloc's locks before
// fork() locks the list would close the cycle. The alarm is the watchdog of the parent and of each child. Usage:
// fork_stdio ALLOCATOR FORKS
#include "subject.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr unsigned kChildSeconds = 600;
constexpr unsigned kParentSeconds = 1400;
constexpr int kLineBytes = 100000;
constexpr int kLinesAtATime = 16;

std::atomic<bool> stop = false;
std::atomic<unsigned long> operations = 0;
std::FILE* lines = nullptr;  // shared, of long lines

// stdio's locks are not fair: a thread that takes one again at once delays the forking thread for long.
void let_others_have_it() { usleep(20); }

// getline makes its line longer while it holds the stream's lock. Were others let in after each line, too few would
// wait for it.
void read_lines() {
  for (int number = 0; number < kLinesAtATime; ++number) {
    char* line = nullptr;
    std::size_t room = 0;
    if (getline(&line, &room, lines) < 0) std::rewind(lines);
    std::free(line);
  }
  let_others_have_it();
}

void flush_all() {
  std::fflush(nullptr);
  let_others_have_it();
}

void open_and_close() {
  if (std::FILE* null = std::fopen("/dev/null", "w")) {
    std::fputs("some text", null);
    std::fclose(null);
  }
  let_others_have_it();
}

void allocate() {
  for (std::size_t size = 16; size < 100000; size *= 3) subject::free(subject::malloc(size));
}

constexpr void (*kWorkers[])() = {read_lines, read_lines, flush_all, open_and_close, allocate};
constexpr int kThreads = sizeof kWorkers / sizeof *kWorkers;

void* work(void* number) {
  while (!stop.load(std::memory_order_relaxed)) {
    kWorkers[reinterpret_cast<std::uintptr_t>(number)]();
    operations.fetch_add(1, std::memory_order_relaxed);
  }
  return nullptr;
}

[[noreturn]] void live_as_child() {
  alarm(kChildSeconds);
  allocate();
  open_and_close();
  std::fflush(nullptr);
  _exit(0);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 || std::strcmp(argv[1], subject::name()) != 0) {
    std::fprintf(stderr, "fork_stdio: malloc is served by %s\n", subject::object());
    return 3;
  }
  const int forks = std::atoi(argv[2]);
  alarm(kParentSeconds);
  lines = std::tmpfile();
  if (lines == nullptr) return 4;
  for (int line = 0; line < 20; ++line) {
    for (int byte = 0; byte < kLineBytes; ++byte) std::fputc('x', lines);
    std::fputc('\n', lines);
  }
  std::rewind(lines);
  pthread_t threads[kThreads];
  for (std::uintptr_t i = 0; i < kThreads; ++i)
    if (pthread_create(&threads[i], nullptr, work, reinterpret_cast<void*>(i)) != 0) return 5;
  int failures = 0;
  for (int number = 0; number < forks && failures < 5; ++number) {
    const pid_t pid = fork();
    if (pid == 0) live_as_child();
    if (pid < 0) return 6;
    int status = 0;
    waitpid(pid, &status, 0);
    if (status == 0) continue;
    ++failures;
    std::fprintf(stderr, "fork_stdio: child %d: status %d%s\n", number, status,
                 WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? " (deadlock)" : "");
  }
  stop = true;
  for (pthread_t& thread : threads) pthread_join(thread, nullptr);
  std::printf("forks: %d, operations meanwhile: %lu, failures: %d\n", forks, operations.load(), failures);
  // Were the threads idle, the forks would prove nothing.
  return failures == 0 && operations > static_cast<unsigned long>(forks) ? 0 : 1;
}
