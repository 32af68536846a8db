#include "open_files.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstdio>

namespace cache_server {
namespace {

constexpr rlim_t kOthers = 32;  // the server's own files, and some that it was started with

}  // namespace

std::size_t granted_clients(std::size_t wanted) {
  const rlim_t needed = wanted + kOthers;
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return wanted;
  if (files.rlim_cur < needed) {
    const rlimit raised{std::min(needed, files.rlim_max), files.rlim_max};
    if (setrlimit(RLIMIT_NOFILE, &raised) == 0) files = raised;
  }
  if (files.rlim_cur >= needed) return wanted;
  const rlim_t granted = files.rlim_cur > kOthers ? files.rlim_cur - kOthers : 1;
  std::fprintf(stderr, "cache_server: --clients %zu: there may be %zu open files (ulimit -n), so it is %zu\n", wanted,
               static_cast<std::size_t>(files.rlim_cur), static_cast<std::size_t>(granted));
  return granted;
}

}  // namespace cache_server
