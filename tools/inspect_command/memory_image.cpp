#include "inspect_command/memory_image.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/procfs.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "library/own_machine.h"
#include "text/user_error.h"

namespace snug::tool {

namespace {

// Addresses of programs, whatever the processor.
constexpr std::uint64_t kEndOfPrograms = std::uint64_t{1} << 56;
// The kernel lets no process have more mappings by default, and none many times as many.
constexpr std::uint64_t kMostSegments = 1 << 20;
constexpr std::uint64_t kLongestNotes = std::uint64_t{64} << 20;
constexpr std::uint64_t kSmallestPage = 4096;

UserError unreadable(const std::string& name, int error) {
  return UserError(fmt::format("cannot read '{}': {}", name, std::strerror(error)));
}

std::uint64_t round_up_to_4(std::uint64_t size) { return (size + 3) / 4 * 4; }

}  // namespace

MemoryImage MemoryImage::of_core(const std::string& path) {
  struct stat status{};
  // Before it is opened, as it may be a device.
  if (stat(path.c_str(), &status) != 0) throw unreadable(path, errno);
  if (!S_ISREG(status.st_mode)) throw UserError(fmt::format("'{}' is no core file", path), EXIT_FAILURE);
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (file < 0) throw unreadable(path, errno);
  MemoryImage image(path, file);
  image.file_size_ = static_cast<std::uint64_t>(status.st_size);
  image.read_core();
  image.name_ = fmt::format("core '{}'", path);
  image.sort_out();
  return image;
}

MemoryImage MemoryImage::of_stopped(pid_t pid) {
  const std::string name = fmt::format("process {}", pid);
  const int file = open(fmt::format("/proc/{}/mem", pid).c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    throw UserError(fmt::format("{}: it is stopped, and its memory cannot be read: {}", name, std::strerror(errno)),
                    EXIT_FAILURE);
  MemoryImage image(name, file);
  image.pid_ = pid;
  image.mappings_ = mappings_of(pid);
  for (const Mapping& one : image.mappings_)
    if (one.end <= kEndOfPrograms)
      image.segments_.push_back({one.start, one.end, one.start, one.end - one.start, one.is_writable});
  image.sort_out();
  return image;
}

MemoryImage::~MemoryImage() {
  if (file_ >= 0) close(file_);
}

MemoryImage::MemoryImage(MemoryImage&& other) noexcept
    : name_(std::move(other.name_)),
      file_(std::exchange(other.file_, -1)),
      pid_(other.pid_),
      file_size_(other.file_size_),
      segments_(std::move(other.segments_)),
      mappings_(std::move(other.mappings_)),
      is_truncated_(other.is_truncated_) {}

std::size_t MemoryImage::read_file(std::uint64_t offset, void* bytes, std::size_t size) const {
  std::size_t done = 0;
  while (done != size) {
    const ssize_t more = pread(file_, static_cast<char*>(bytes) + done, size - done, static_cast<off_t>(offset + done));
    if (more < 0 && errno == EINTR) continue;
    if (more <= 0) break;
    done += static_cast<std::size_t>(more);
  }
  return done;
}

void MemoryImage::read_core() {
  Elf64_Ehdr header{};
  if (read_file(0, &header, sizeof header) != sizeof header || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      (header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_ident[EI_DATA] == kOurOrder && header.e_type != ET_CORE))
    throw UserError(fmt::format("'{}' is no core file", name_), EXIT_FAILURE);
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != kOurOrder || header.e_machine != kOurMachine)
    throw UserError(fmt::format("'{}' is a core of another kind of machine", name_), EXIT_FAILURE);
  std::uint64_t count = header.e_phnum;
  Elf64_Shdr first{};
  // Of more segments the number stands in the first section.
  if (count == PN_XNUM && read_file(header.e_shoff, &first, sizeof first) == sizeof first) count = first.sh_info;
  const auto damaged = [&] {
    return UserError(fmt::format("core '{}' is damaged, or was cut off in its table of segments", name_), EXIT_FAILURE);
  };
  if (count == 0 || count > kMostSegments || header.e_phentsize != sizeof(Elf64_Phdr)) throw damaged();
  std::vector<Elf64_Phdr> headers(count);
  if (read_file(header.e_phoff, headers.data(), count * sizeof(Elf64_Phdr)) != count * sizeof(Elf64_Phdr))
    throw damaged();
  for (const Elf64_Phdr& one : headers) {
    if (one.p_type == PT_NOTE) read_notes(one.p_offset, one.p_filesz);
    if (one.p_type != PT_LOAD || one.p_memsz == 0 || one.p_vaddr >= kEndOfPrograms) continue;  // or the kernel's page
    if (one.p_memsz > kEndOfPrograms - one.p_vaddr || one.p_filesz > one.p_memsz || one.p_vaddr % kSmallestPage != 0 ||
        one.p_memsz % kSmallestPage != 0)
      throw damaged();
    const std::uint64_t there =
        one.p_offset < file_size_ ? std::min<std::uint64_t>(one.p_filesz, file_size_ - one.p_offset) : 0;
    segments_.push_back({one.p_vaddr, one.p_vaddr + one.p_memsz, one.p_offset, there, (one.p_flags & PF_W) != 0,
                         there != one.p_filesz});
  }
}

void MemoryImage::read_notes(std::uint64_t offset, std::uint64_t size) {
  std::vector<char> notes(std::min(size, kLongestNotes));
  notes.resize(read_file(offset, notes.data(), notes.size()));
  std::uint64_t at = 0;
  Elf64_Nhdr header{};
  while (at + sizeof header <= notes.size()) {
    std::memcpy(&header, notes.data() + at, sizeof header);
    const std::uint64_t content = at + sizeof header + round_up_to_4(header.n_namesz);
    const std::uint64_t next = content + round_up_to_4(header.n_descsz);
    if (content + header.n_descsz > notes.size()) return;  // cut off
    const char* const from = notes.data() + content;
    if (header.n_type == NT_PRPSINFO && header.n_descsz >= sizeof(elf_prpsinfo)) {
      elf_prpsinfo about{};
      std::memcpy(&about, from, sizeof about);
      pid_ = about.pr_pid;
    }
    if (header.n_type == NT_FILE) read_mappings({from, from + header.n_descsz});
    at = next;
  }
}

// The note has the number of mappings, the size of the unit of their offsets, then start, end and offset of each, then
// their names, each with a zero byte behind it.
void MemoryImage::read_mappings(const std::vector<char>& note) {
  const auto word = [&](std::uint64_t index) {
    std::uint64_t value = 0;
    std::memcpy(&value, note.data() + index * sizeof value, sizeof value);
    return value;
  };
  const std::uint64_t words = note.size() / sizeof(std::uint64_t);
  if (words < 2 || word(0) > (words - 2) / 3) return;
  const char* name = note.data() + (2 + 3 * word(0)) * sizeof(std::uint64_t);
  const char* const end = note.data() + note.size();
  for (std::uint64_t i = 0; i != word(0); ++i) {
    const std::size_t length = strnlen(name, static_cast<std::size_t>(end - name));
    if (name + length == end) return;
    mappings_.push_back({word(2 + 3 * i), word(3 + 3 * i), word(4 + 3 * i) * word(1), std::string(name, length)});
    name += length + 1;
  }
}

// Puts all in order, marks what has a name, and names the rest.
void MemoryImage::sort_out() {
  const auto by_start = [](const auto& one, const auto& other) { return one.start < other.start; };
  std::sort(segments_.begin(), segments_.end(), by_start);
  std::sort(mappings_.begin(), mappings_.end(), by_start);
  for (std::size_t i = 1; i < segments_.size(); ++i)
    if (segments_[i].start < segments_[i - 1].end)
      throw UserError(fmt::format("{} is damaged: its segments overlap", name_), EXIT_FAILURE);
  if (segments_.empty()) throw UserError(fmt::format("{} has no memory of a process in it", name_), EXIT_FAILURE);
  std::vector<Mapping> unnamed;
  for (Segment& segment : segments_) {
    const auto behind = std::lower_bound(mappings_.begin(), mappings_.end(), segment.end,
                                         [](const Mapping& one, std::uint64_t end) { return one.start < end; });
    const Mapping* const last = behind != mappings_.begin() ? &*(behind - 1) : nullptr;
    segment.is_of_file = last != nullptr && last->end > segment.start && last->path.starts_with('/');
    if (last == nullptr || last->end <= segment.start) unnamed.push_back({segment.start, segment.end, 0, ""});
    is_truncated_ = is_truncated_ || segment.is_truncated;
  }
  mappings_.insert(mappings_.end(), unnamed.begin(), unnamed.end());
  std::sort(mappings_.begin(), mappings_.end(), by_start);
}

const MemoryImage::Segment* MemoryImage::around(std::uint64_t address) const {
  const auto behind = std::upper_bound(segments_.begin(), segments_.end(), address,
                                       [](std::uint64_t wanted, const Segment& one) { return wanted < one.end; });
  return behind != segments_.end() && address >= behind->start ? &*behind : nullptr;
}

}  // namespace snug::tool
