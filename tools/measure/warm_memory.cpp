#include "measure/warm_memory.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace snug::tool {

namespace {

constexpr std::uint64_t kOsPage = 4096;

bool touch(std::uint64_t bytes) {
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  madvise(memory, bytes, MADV_HUGEPAGE);  // whole blocks of what is free; quicker, too
  for (std::uint64_t at = 0; at < bytes; at += kOsPage) static_cast<volatile char*>(memory)[at] = 1;
  return true;
}

}  // namespace

bool warm_memory(std::uint64_t bytes) {
  if (bytes == 0) return true;
  // Not in this process: what it once had would count as the peak of the program that it starts.
  const pid_t child = fork();
  if (child == 0) _exit(touch(bytes) ? EXIT_SUCCESS : EXIT_FAILURE);
  int status = -1;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS;
}

}  // namespace snug::tool
