// TemporaryFolder: a folder of our own under $TMPDIR or /tmp, gone with its contents when the value dies.
#pragma once

#include <filesystem>

namespace snug::tool {

class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace snug::tool
