#include "isolated_run.h"

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace snug::model {

namespace {

// What the child leaves behind, in memory that survives its death.
struct Testament {
  std::atomic<uint64_t> step;
  char complaint[4000];
};

constexpr unsigned kSecondsPerProgram = 1200;
constexpr int kComplained = 7;

Testament* new_testament() {
  void* const shared = mmap(nullptr, sizeof(Testament), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return shared == MAP_FAILED ? nullptr : static_cast<Testament*>(shared);
}

Complaint run_with_testament(Testament& testament, const std::function<Complaint(void)>& body, unsigned seconds) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) return "fork failed";
  if (child == 0) {
    alarm(seconds);
    const Complaint complaint = body();
    if (!complaint) _exit(0);
    std::strncpy(testament.complaint, complaint->c_str(), sizeof testament.complaint - 1);
    _exit(kComplained);
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child) return "waitpid failed";
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return std::nullopt;
  if (WIFEXITED(status) && WEXITSTATUS(status) == kComplained) return std::string(testament.complaint);
  if (WIFEXITED(status)) return "the process exited with status " + std::to_string(WEXITSTATUS(status));
  if (WTERMSIG(status) == SIGALRM) return "the process hung for " + std::to_string(seconds) + " s";
  return "the process died of signal " + std::to_string(WTERMSIG(status)) + " (" + strsignal(WTERMSIG(status)) + ")";
}

}  // namespace

Complaint run_isolated(const AllocatorUnderTest& allocator, const Program& program, RunOptions options) {
  Testament* const testament = new_testament();
  if (testament == nullptr) return "mmap failed";
  const auto body = [&]() -> Complaint {
    ProgramRunner runner(allocator, options);
    for (size_t i = 0; i < program.size(); ++i) {
      testament->step.store(i, std::memory_order_relaxed);
      if (Complaint complaint = runner.step(program[i])) return complaint;
    }
    testament->step.store(program.size(), std::memory_order_relaxed);
    return runner.finish();
  };
  Complaint complaint = run_with_testament(*testament, body, kSecondsPerProgram);
  if (complaint) {
    const uint64_t step = testament->step.load(std::memory_order_relaxed);
    *complaint =
        (step < program.size() ? "at step " + std::to_string(step) : std::string("at the end")) + ": " + *complaint;
  }
  munmap(testament, sizeof(Testament));
  return complaint;
}

Complaint run_in_child(const std::function<Complaint(void)>& body, unsigned seconds) {
  Testament* const testament = new_testament();
  if (testament == nullptr) return "mmap failed";
  const Complaint complaint = run_with_testament(*testament, body, seconds);
  munmap(testament, sizeof(Testament));
  return complaint;
}

}  // namespace snug::model
