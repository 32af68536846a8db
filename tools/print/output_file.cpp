#include "print/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/vfs.h>
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

bool is_same(const struct stat& one, const struct stat& other) {
  return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

// The kind (S_IFREG …) of what the descriptor has open, if the path leads to that; 0 if not.
mode_t kind_at_both(const std::string& path, int descriptor) {
  struct stat at_path, opened;
  if (stat(path.c_str(), &at_path) != 0 || fstat(descriptor, &opened) != 0 || !is_same(at_path, opened)) return 0;
  return opened.st_mode & S_IFMT;
}

std::string folder_of(const fs::path& path) { return path.has_parent_path() ? path.parent_path().string() : "."; }

// Where links lead, so that they stay; the last place need not be there. Empty if one of them is the kernel's, as
// /proc/self/fd/3: it leads to a file that is open, which has lost the name that the link tells, or never had one.
std::string followed(fs::path path) {
  constexpr int kMostLinks = 40;
  std::error_code none;
  for (int link = 0; link != kMostLinks && fs::is_symlink(path, none); ++link) {
    struct statfs system;
    if (statfs(folder_of(path).c_str(), &system) != 0 || system.f_type == PROC_SUPER_MAGIC) return {};
    path = path.parent_path() / fs::read_symlink(path, none);  // what is absolute takes the place of the rest
  }
  return path.string();
}

// The name that a new file may take; empty where what stands at the path is to be written as it stands, if the kernel
// lets us. It knows what links and files in a sticky folder may not be followed and written (fs.protected_symlinks,
// fs.protected_regular), which a replacement would pass by.
std::string replaceable(const std::string& path) {
  struct stat given, found, folder;
  const bool is_there = stat(path.c_str(), &given) == 0;
  if (!is_there && errno != ENOENT) return {};
  if (is_there && (!S_ISREG(given.st_mode) || access(path.c_str(), W_OK) != 0)) return {};
  const std::string place = followed(path);
  if (!is_there || place.empty()) return place;
  if (stat(place.c_str(), &found) != 0 || !is_same(given, found)) return {};
  if (stat(folder_of(place).c_str(), &folder) != 0) return {};
  return (folder.st_mode & S_ISVTX) != 0 && given.st_uid != geteuid() ? std::string() : place;
}

// Where the file may not be given to another owner it is the caller's, and where not to the group, none has rights.
void take_rights(int descriptor, const struct stat& before, Readers readers) {
  const mode_t most = readers == Readers::kOwner ? 0600 : 07777;
  mode_t mode = before.st_mode & most;
  if (fchown(descriptor, before.st_uid, before.st_gid) != 0) {
    mode &= 0777;
    if (fchown(descriptor, static_cast<uid_t>(-1), before.st_gid) != 0) mode &= ~070u;
  }
  fchmod(descriptor, mode);
}

mode_t mode_of_new(Readers readers) { return readers == Readers::kOwner ? 0600 : 0666; }

// Into a file that is there, as it stands. 0, or the errno of what went wrong.
int copy_into(const std::string& from, const std::string& to) {
  constexpr std::size_t kMost = std::size_t{1} << 30;
  const int source = open(from.c_str(), O_RDONLY | O_CLOEXEC);
  if (source < 0) return errno;
  const int target = open(to.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC);
  int error = target < 0 ? errno : 0;
  for (ssize_t sent = 1; error == 0 && sent != 0;) {
    sent = sendfile(target, source, nullptr, kMost);
    if (sent < 0) error = errno;
  }
  if (target >= 0 && close(target) != 0 && error == 0) error = errno;
  close(source);
  return error;
}

}  // namespace

bool leads_to_output(const std::string& path) {
  const mode_t kind = kind_at_both(path, STDOUT_FILENO);
  return path == kStandardOutput || kind == S_IFREG || kind == S_IFIFO || kind == S_IFSOCK;
}

bool names_one_file(const std::string& path, const std::string& other) {
  std::error_code none;
  const auto place = [&none](const std::string& of) {
    return std::filesystem::weakly_canonical(std::filesystem::absolute(of, none), none);
  };
  return place(path) == place(other) || std::filesystem::equivalent(path, other, none);
}

UserError both_on_standard_output() { return UserError("-o - and --json both write to standard output"); }

OutputFile::OutputFile(const std::string& path, Readers readers) : path_(path), file_(stdout) {
  if (leads_to_output(path_)) {
    path_ = kStandardOutput;
    return;
  }
  const bool is_told = kind_at_both(path_, STDERR_FILENO) == S_IFREG;  // what stands there stays
  const std::string place = is_told ? "" : replaceable(path_);
  if (!place.empty()) {
    if (open_part(place, readers)) return;
    if (errno != EACCES && errno != EPERM && errno != EROFS && errno != ENAMETOOLONG) throw cannot_write(path, errno);
  }
  open_in_place(is_told, readers);
}

OutputFile::~OutputFile() { drop(); }

// What an earlier run has left, or another one writes, stays.
bool OutputFile::open_part(const std::string& place, Readers readers) {
  constexpr int kMost = 1000;
  struct stat before;
  const bool has_before = stat(place.c_str(), &before) == 0;
  const mode_t mode = has_before ? 0600 : mode_of_new(readers);  // until it has the rights of what stands there
  int descriptor = -1;
  for (int number = 1; number != kMost && descriptor < 0; ++number) {
    part_ = place + ".part" + (number == 1 ? "" : std::to_string(number));
    descriptor = open(part_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (descriptor < 0 && errno != EEXIST) break;
  }
  if (descriptor < 0) {
    part_.clear();
    return false;
  }
  if (has_before) take_rights(descriptor, before, readers);
  path_ = place;
  file_ = fdopen(descriptor, "w");
  if (file_ != nullptr) return true;
  close(descriptor);
  unlink(part_.c_str());
  part_.clear();
  errno = ENOMEM;
  return false;
}

// What stands there stays until something new comes: see begin().
void OutputFile::open_in_place(bool appends, Readers readers) {
  const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | (appends ? O_APPEND : 0);
  const int descriptor = open(path_.c_str(), flags, mode_of_new(readers));
  file_ = descriptor < 0 ? nullptr : fdopen(descriptor, appends ? "a" : "w");
  if (file_ == nullptr) {
    const int error = errno;
    if (descriptor >= 0) close(descriptor);
    throw cannot_write(path_, error);
  }
  has_old_ = !appends;
}

void OutputFile::begin() {
  if (!std::exchange(has_old_, false)) return;
  struct stat old;
  const int descriptor = fileno(file_);
  if (fstat(descriptor, &old) == 0 && S_ISREG(old.st_mode) && old.st_size != 0 && ftruncate(descriptor, 0) != 0)
    error_ = errno;
}

bool OutputFile::has_lost_reader() const { return error_ == EPIPE; }

void OutputFile::put(std::string_view text) {
  begin();
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), file_) != text.size() && error_ == 0) error_ = errno;
}

std::FILE* OutputFile::stream() {
  begin();
  return file_;
}

void OutputFile::drop() {
  if (file_ != nullptr && !is_standard_output()) std::fclose(file_);
  file_ = nullptr;
  std::error_code none;
  if (!part_.empty()) fs::remove(part_, none);
  part_.clear();
}

void OutputFile::finish() {
  begin();
  errno = 0;
  bool is_written = std::fflush(file_) == 0 && std::ferror(file_) == 0 && error_ == 0;
  int error = errno != 0 ? errno : error_;
  if (!is_standard_output() && std::fclose(std::exchange(file_, nullptr)) != 0 && is_written) {
    is_written = false;
    error = errno;
  }
  if (!is_written) {
    drop();
    throw cannot_write(path_, error);
  }
  if (!part_.empty()) take_name();
}

// A file that may take no other's name (something is mounted there, say) is written as it stands. Hours of work are not
// lost with either.
void OutputFile::take_name() {
  if (std::rename(part_.c_str(), path_.c_str()) == 0) return part_.clear();
  const int error = copy_into(part_, path_);
  if (error == 0) return drop();
  const std::string kept = std::exchange(part_, "");
  std::error_code none;
  if (!fs::exists(kept, none)) throw cannot_write(path_, error);  // it has gone with its folder
  throw UserError(fmt::format("{}; it is in '{}'", cannot_write(path_, error).what(), kept), EXIT_FAILURE);
}

void write_output(const std::string& path, std::string_view text, Readers readers) {
  OutputFile file(path, readers);
  file.put(text);
  file.finish();
}

}  // namespace snug::tool
