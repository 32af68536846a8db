#include "recorder/loader_memory.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

#include "recorder/libc_features.h"
#include "recorder/recording.h"

namespace snug::recorder {

namespace {

struct Range {
  std::uint64_t begin;
  std::uint64_t end;
};
// More than the largest desktop programs need; further ranges are taken for the heap's.
constexpr std::size_t kMostRanges = 1024;
constinit Range ranges[kMostRanges] = {};
constinit std::size_t range_count = 0;

std::uint64_t take_hexadecimal(const char*& text) {
  std::uint64_t number = 0;
  for (;; ++text) {
    if (*text >= '0' && *text <= '9')
      number = number << 4 | static_cast<std::uint64_t>(*text - '0');
    else if (*text >= 'a' && *text <= 'f')
      number = number << 4 | static_cast<std::uint64_t>(*text - 'a' + 10);
    else
      return number;
  }
}

// A line is "BEGIN-END rw-p OFFSET DEVICE INODE NAME". A mapping of no file has no name.
void take_mapping(const char* line) {
  if (range_count == kMostRanges || strpbrk(line, "/[") != nullptr) return;
  Range range{};
  range.begin = take_hexadecimal(line);
  if (*line++ != '-') return;
  range.end = take_hexadecimal(line);
  if (strncmp(line, " rw-p", 5) == 0) ranges[range_count++] = range;
}

// Keeps only mappings of the dynamic linker: an allocator that was called before this library may have made others.
void drop_what_is_not_the_loaders() {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < range_count; ++i) {
    const auto holds = [&range = ranges[i]](const void* thing) {
      const auto address = reinterpret_cast<std::uintptr_t>(thing);
      return address >= range.begin && address < range.end;
    };
    bool is_loaders = holds(&this_thread);
    for (const link_map* library = first_loaded_file(); library != nullptr && !is_loaders; library = library->l_next)
      is_loaders = holds(library);
    if (is_loaders) ranges[kept++] = ranges[i];
  }
  range_count = kept;
}

}  // namespace

void find_loader_memory() {
  const ErrnoKeeper keeper;
  const auto file = static_cast<int>(syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC));
  if (file < 0) return;
  char line[96];  // a longer one has a name
  std::size_t used = 0;
  char bytes[1024];
  for (long length = 0; (length = syscall(SYS_read, file, bytes, sizeof bytes)) > 0;)
    for (long i = 0; i < length; ++i) {
      if (bytes[i] != '\n') {
        if (used < sizeof line - 1) line[used++] = bytes[i];
        continue;
      }
      line[used] = '\0';
      if (used < sizeof line - 1) take_mapping(line);
      used = 0;
    }
  syscall(SYS_close, file);
  drop_what_is_not_the_loaders();
}

void tell_loader_memory() {
  for (std::size_t i = 0; i < range_count; ++i) tell(kLoaderMemory, ranges[i].begin, ranges[i].end - ranges[i].begin);
}

}  // namespace snug::recorder
