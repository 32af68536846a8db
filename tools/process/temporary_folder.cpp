#include "process/temporary_folder.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "text/user_error.h"

namespace snug::tool {

namespace {

// SNUG_CONF separates its keys by commas, so a report file cannot have one in its path.
std::filesystem::path parent_folder() {
  const char* chosen = std::getenv("TMPDIR");
  if (chosen == nullptr || *chosen == '\0' || std::strchr(chosen, ',') != nullptr) return "/tmp";
  return chosen;
}

}  // namespace

TemporaryFolder::TemporaryFolder() : TemporaryFolder(parent_folder()) {}

TemporaryFolder::TemporaryFolder(const std::filesystem::path& parent) {
  std::string name = parent / "snug-XXXXXX";
  if (mkdtemp(name.data()) == nullptr) {
    throw UserError(fmt::format("cannot make a temporary folder '{}': {}", name, std::strerror(errno)));
  }
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;  // a file that cannot be deleted is no reason to lose the results
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace snug::tool
