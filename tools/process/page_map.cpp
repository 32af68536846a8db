#include "process/page_map.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace snug::tool {

PageMap::PageMap(pid_t process)
    : descriptor_(open(fmt::format("/proc/{}/pagemap", process).c_str(), O_RDONLY | O_CLOEXEC)) {}

PageMap::~PageMap() {
  if (is_open()) close(descriptor_);
}

std::size_t PageMap::fill(std::uint64_t first, std::size_t count, std::uint64_t* words) const {
  const ssize_t got = pread(descriptor_, words, count * sizeof *words, static_cast<off_t>(first * sizeof *words));
  return got < 0 ? 0 : static_cast<std::size_t>(got) / sizeof *words;
}

}  // namespace snug::tool
