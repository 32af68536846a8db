#include "print/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

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

// Where links lead, so that they stay; the last place need not be there.
std::string followed(fs::path path) {
  constexpr int kMostLinks = 40;
  std::error_code none;
  for (int link = 0; link != kMostLinks && fs::is_symlink(path, none); ++link)
    path = path.parent_path() / fs::read_symlink(path, none);  // what is absolute takes the place of the rest
  return path.string();
}

// True if both are one regular file.
bool is_file_of(const std::string& path, int descriptor) {
  struct stat at_path, opened;
  return stat(path.c_str(), &at_path) == 0 && fstat(descriptor, &opened) == 0 && S_ISREG(opened.st_mode) &&
         at_path.st_dev == opened.st_dev && at_path.st_ino == opened.st_ino;
}

}  // namespace

bool leads_to_output(const std::string& path) { return path == kStandardOutput || is_file_of(path, STDOUT_FILENO); }

OutputFile::OutputFile(const std::string& path, Readers readers) : path_(path), file_(stdout) {
  if (leads_to_output(path_)) {
    path_ = kStandardOutput;
    return;
  }
  std::error_code none;
  const fs::file_status status = fs::status(path_, none);
  const bool is_file = fs::is_regular_file(status);
  if (is_file && access(path_.c_str(), W_OK) != 0) throw cannot_write(path, errno);
  const bool is_told = is_file_of(path_, STDERR_FILENO);  // what stands there stays
  if (!is_told && (is_file || !fs::exists(status))) {
    path_ = followed(path_);
    if (open_part(readers)) return;
    if (errno != EACCES && errno != EPERM && errno != EROFS) throw cannot_write(path, errno);
  }
  file_ = std::fopen(path_.c_str(), is_told ? "ae" : "we");
  if (file_ == nullptr) throw cannot_write(path, errno);
}

OutputFile::~OutputFile() { drop(); }

// What an earlier run has left, or another one writes, stays.
bool OutputFile::open_part(Readers readers) {
  constexpr int kMost = 1000;
  const mode_t mode = readers == Readers::kOwner ? 0600 : 0666;
  int descriptor = -1;
  for (int number = 1; number != kMost && descriptor < 0; ++number) {
    part_ = path_ + ".part" + (number == 1 ? "" : std::to_string(number));
    descriptor = open(part_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (descriptor < 0 && errno != EEXIST) break;
  }
  if (descriptor < 0) {
    part_.clear();
    return false;
  }
  struct stat before;
  if (stat(path_.c_str(), &before) == 0) {
    // Where it may not be given to another owner it is the caller's, and where not to the group, none has rights.
    if (fchown(descriptor, before.st_uid, before.st_gid) != 0) {
      before.st_mode &= 0777;
      if (fchown(descriptor, static_cast<uid_t>(-1), before.st_gid) != 0) before.st_mode &= ~070u;
    }
    fchmod(descriptor, before.st_mode & 07777);
  }
  file_ = fdopen(descriptor, "w");
  if (file_ != nullptr) return true;
  close(descriptor);
  unlink(part_.c_str());
  part_.clear();
  errno = ENOMEM;
  return false;
}

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

void write_output(const std::string& path, std::string_view text, Readers readers) {
  OutputFile file(path, readers);
  file.put(text);
  file.finish();
}

}  // namespace snug::tool
