#include "print/output_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "text/user_error.h"

namespace snug::tool {

namespace {

namespace fs = std::filesystem;

// `error`: 0 if it is not known any more.
UserError cannot_write(const std::string& path, int error) {
  const std::string what = path == kStandardOutput ? "to standard output" : "'" + path + "'";
  const char* const why = error == 0 ? "disk full or pipe closed" : std::strerror(error);
  return UserError(fmt::format("cannot write {}: {}", what, why), EXIT_FAILURE);
}

// Where a link leads, so that the link stays.
std::string followed(const std::string& path) {
  std::error_code none;
  const fs::path target = fs::is_symlink(path, none) ? fs::weakly_canonical(path, none) : fs::path(path);
  return none ? path : target.string();
}

}  // namespace

OutputFile::OutputFile(const std::string& path) : path_(path), file_(stdout) {
  if (is_standard_output()) return;
  path_ = followed(path);
  std::error_code none;
  const fs::file_status status = fs::status(path_, none);
  if (!fs::exists(status) || fs::is_regular_file(status)) {
    part_ = path_ + ".part";
    file_ = std::fopen(part_.c_str(), "we");
    if (file_ != nullptr) return;
    part_.clear();
  }
  file_ = std::fopen(path_.c_str(), "we");
  if (file_ == nullptr) throw cannot_write(path, errno);
}

OutputFile::~OutputFile() { drop(); }

void OutputFile::put(std::string_view text) {
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), file_) != text.size() && error_ == 0) error_ = errno;
}

void OutputFile::drop() {
  if (file_ != nullptr && !is_standard_output()) std::fclose(file_);
  file_ = nullptr;
  std::error_code none;
  if (!part_.empty()) fs::remove(part_, none);
  part_.clear();
}

void OutputFile::finish() {
  errno = 0;
  bool is_written = std::fflush(file_) == 0 && std::ferror(file_) == 0;
  int error = errno != 0 ? errno : error_;
  if (!is_standard_output() && std::fclose(std::exchange(file_, nullptr)) != 0 && is_written) {
    is_written = false;
    error = errno;
  }
  if (is_written && !part_.empty() && std::rename(part_.c_str(), path_.c_str()) != 0) {
    is_written = false;
    error = errno;
  }
  if (is_written) return part_.clear();
  drop();
  throw cannot_write(path_, error);
}

void write_output(const std::string& path, std::string_view text) {
  OutputFile file(path);
  file.put(text);
  file.finish();
}

}  // namespace snug::tool
