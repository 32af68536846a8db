// TemporaryFolder: a folder of our own under $TMPDIR or /tmp, or another one, gone with its contents when the value
// dies.
#pragma once

#include <filesystem>

namespace snug::tool {

class TemporaryFolder {
 public:
  TemporaryFolder();
  explicit TemporaryFolder(const std::filesystem::path& parent);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace snug::tool
