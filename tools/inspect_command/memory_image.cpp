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
#include <string_view>
#include <utility>

#include "library/build_id.h"
#include "library/elf_notes.h"
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
// Of a file's beginning in memory: the headers of an ELF file and its build-id are in its first page.
constexpr std::uint64_t kHeaders = 16 * kSmallestPage;

UserError unreadable(const std::string& name, int error) {
  return UserError(fmt::format("cannot read '{}': {}", name, std::strerror(error)));
}

UserError damaged(const std::string& path) {
  return UserError(fmt::format("core '{}' is damaged, or was cut off in its table of segments", path), EXIT_FAILURE);
}

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

// Of the memory of a process, which has no holes, each byte is one of its own.
std::uint64_t MemoryImage::data_from(std::uint64_t offset) const {
  const off_t data = lseek(file_, static_cast<off_t>(offset), SEEK_DATA);
  if (data >= 0) return static_cast<std::uint64_t>(data);
  return errno == ENXIO ? UINT64_MAX : offset;
}

std::string MemoryImage::build_id_in_memory(const Mapping& mapping) const {
  // The one before it, if there are several.
  const Mapping* beginning = nullptr;
  for (const Mapping& one : mappings_)
    if (one.start <= mapping.start && one.offset == 0 && one.path == mapping.path) beginning = &one;
  const Segment* const segment = beginning != nullptr ? around(beginning->start) : nullptr;
  if (segment == nullptr) return {};
  const std::uint64_t at = std::min(beginning->start - segment->start, segment->bytes);
  const std::uint64_t end = std::min(beginning->end - segment->start, segment->bytes);
  if (at >= end) return {};
  std::vector<unsigned char> bytes(std::min(end - at, kHeaders));
  bytes.resize(read_file(segment->offset + at, bytes.data(), bytes.size()));
  return build_id_in(bytes);
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
  if (count == 0 || count > kMostSegments || header.e_phentsize != sizeof(Elf64_Phdr)) throw damaged(name_);
  std::vector<Elf64_Phdr> headers(count);
  if (read_file(header.e_phoff, headers.data(), count * sizeof(Elf64_Phdr)) != count * sizeof(Elf64_Phdr))
    throw damaged(name_);
  // No two parts lie on each other, so that no byte is read twice; of a core that was cut off, what is there does not.
  std::uint64_t all = 0;
  std::uint64_t notes_left = kLongestNotes;
  for (const Elf64_Phdr& one : headers) {
    if (one.p_type != PT_NOTE && one.p_type != PT_LOAD) continue;
    const std::uint64_t there =
        one.p_offset < file_size_ ? std::min<std::uint64_t>(one.p_filesz, file_size_ - one.p_offset) : 0;
    if (there > file_size_ - all) throw damaged(name_);
    all += there;
    if (one.p_type == PT_NOTE) {
      const std::uint64_t length = std::min(there, notes_left);
      notes_left -= length;
      read_notes(one.p_offset, length);
      continue;
    }
    if (one.p_memsz == 0 || one.p_vaddr >= kEndOfPrograms) continue;  // the kernel's page
    if (one.p_memsz > kEndOfPrograms - one.p_vaddr || one.p_filesz > one.p_memsz || one.p_vaddr % kSmallestPage != 0 ||
        one.p_memsz % kSmallestPage != 0)
      throw damaged(name_);
    segments_.push_back({one.p_vaddr, one.p_vaddr + one.p_memsz, one.p_offset, there, (one.p_flags & PF_W) != 0,
                         there != one.p_filesz});
  }
}

void MemoryImage::read_notes(std::uint64_t offset, std::uint64_t size) {
  std::vector<unsigned char> bytes(size);
  bytes.resize(read_file(offset, bytes.data(), bytes.size()));
  std::span<const unsigned char> notes = bytes;
  while (const auto note = take_note(notes)) {
    elf_prpsinfo about{};
    if (note->type == NT_PRPSINFO && note->content.size() >= sizeof about) {
      std::memcpy(&about, note->content.data(), sizeof about);
      pid_ = about.pr_pid;
    }
    if (note->type == NT_FILE && mappings_.empty()) read_mappings(note->content);
  }
}

// The note has the number of mappings, the size of the unit of their offsets, then start, end and offset of each, then
// their names, each with a zero byte behind it.
void MemoryImage::read_mappings(std::span<const unsigned char> note) {
  const auto word = [&](std::uint64_t index) {
    std::uint64_t value = 0;
    std::memcpy(&value, note.data() + index * sizeof value, sizeof value);
    return value;
  };
  const std::uint64_t words = note.size() / sizeof(std::uint64_t);
  if (words < 2 || word(0) > (words - 2) / 3) return;
  if (word(0) > kMostSegments) throw damaged(name_);
  std::string_view names(reinterpret_cast<const char*>(note.data()), note.size());
  names.remove_prefix((2 + 3 * word(0)) * sizeof(std::uint64_t));
  for (std::uint64_t i = 0; i != word(0); ++i) {
    const std::size_t length = names.find('\0');
    if (length == std::string_view::npos) return;
    mappings_.push_back(
        {word(2 + 3 * i), word(3 + 3 * i), word(4 + 3 * i) * word(1), std::string(names.substr(0, length))});
    names.remove_prefix(length + 1);
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
