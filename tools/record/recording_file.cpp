#include "record/recording_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "text/user_error.h"

namespace snug::tool {

namespace {

UserError cannot_write(const std::filesystem::path& path, int error) {
  const char* const why = error == ENXIO ? "nobody reads it" : std::strerror(error);
  return UserError(fmt::format("cannot write '{}': {}", path.string(), why), EXIT_FAILURE);
}

// Below 0 if that fails. To open a pipe that nobody reads would be to wait for ever, with the signals held that should
// end it.
int open_without_waiting(const std::filesystem::path& path, int flags) {
  return open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK | flags, 0666);
}

std::FILE* open_file(const std::filesystem::path& path) {
  const int file = open_without_waiting(path, O_TRUNC);
  if (file >= 0) fcntl(file, F_SETFL, 0);  // what is written waits
  std::FILE* const stream = file < 0 ? nullptr : fdopen(file, "w");
  if (stream == nullptr) throw cannot_write(path, errno);
  return stream;
}

// Pipes and devices have nothing that could be lost.
bool would_lose_something(int file) {
  struct stat status{};
  return fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size != 0;
}

}  // namespace

// A file that is not there is made, and taken away again.
void expect_writable(const std::filesystem::path& path, Existing existing) {
  int file = open_without_waiting(path, O_EXCL);
  bool is_kept = false;
  if (file >= 0) {
    std::filesystem::remove(path);
  } else if (errno == EEXIST) {
    file = open_without_waiting(path, 0);
    is_kept = file >= 0 && existing == Existing::kKeep && would_lose_something(file);
  }
  if (file < 0) throw cannot_write(path, errno);
  close(file);
  if (is_kept)
    throw UserError(fmt::format("'{}' exists: name another file by -o, or overwrite it by --force", path.string()));
}

RecordingFile::RecordingFile(std::filesystem::path path, int level) : path_(std::move(path)), level_(level) {}

trace::ChunkFile& RecordingFile::chunks(std::uint32_t process, std::uint64_t started) {
  if (!chunks_) {
    stream_.reset(open_file(path_));
    chunks_.emplace(stream_.get(), process, started);
  }
  return *chunks_;
}

void RecordingFile::expect_written() const {
  if (chunks_ && chunks_->error() != 0) throw cannot_write(path_, chunks_->error());
}

void RecordingFile::finish() {
  if (chunks_) chunks_->finish(level_);
  expect_written();
}

}  // namespace snug::tool
