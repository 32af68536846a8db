#include "trace/source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace snug::trace {

namespace {

class FileSource final : public Source {
 public:
  FileSource(int descriptor, std::uint64_t size) : descriptor_(descriptor), size_(size) {}
  ~FileSource() override { ::close(descriptor_); }
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;

  std::uint64_t size() const override { return size_; }
  bool read(std::uint64_t offset, void* to, std::size_t count) override {
    auto* at = static_cast<std::uint8_t*>(to);
    while (count != 0) {
      const ssize_t taken = ::pread(descriptor_, at, count, static_cast<off_t>(offset));
      if (taken < 0 && errno == EINTR) continue;
      if (taken <= 0) return false;
      at += taken;
      offset += static_cast<std::uint64_t>(taken);
      count -= static_cast<std::size_t>(taken);
    }
    return true;
  }

 private:
  int descriptor_;
  std::uint64_t size_;  // when it was opened: a recorder may still write to it
};

}  // namespace

bool MemorySource::read(std::uint64_t offset, void* to, std::size_t count) {
  if (offset > bytes_.size() || count > bytes_.size() - offset) return false;
  if (count != 0) std::memcpy(to, bytes_.data() + offset, count);
  return true;
}

std::unique_ptr<Source> open_source(const std::string& path, std::string& fault) {
  // A pipe would be waited for until something opens it to write.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) {
    fault = std::strerror(errno);
    return nullptr;
  }
  struct stat status = {};
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(descriptor);
    fault = S_ISDIR(status.st_mode)    ? "it is a folder"
            : S_ISFIFO(status.st_mode) ? "a trace is read at any place, and so from no pipe: name its file"
                                       : "it is no file that can be read at any place";
    return nullptr;
  }
  return std::make_unique<FileSource>(descriptor, static_cast<std::uint64_t>(status.st_size));
}

}  // namespace snug::trace
