#include "inspect_command/image_answers.h"

#include <fmt/format.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>

#include "allocator/address_description.h"
#include "allocator/allocator.h"
#include "os/output_stream.h"
#include "print/say.h"
#include "text/user_error.h"

namespace snug::tool {

namespace {

constexpr rlim_t kMostSeconds = 60;  // for all allocators
// A program may have a heap of the archive's beside the drop-in.
constexpr std::size_t kMostAllocators = 8;
const std::uint64_t kPage = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
const std::uint64_t kReadAtOnce = 16 * kPage;
constexpr std::size_t kRoomOfAnswer = 8192;

// As it stands in the memory of the process.
struct FoundNote {
  std::uint64_t allocator = 0;
  std::uint64_t layout = 0;
  std::uint32_t version[3] = {};
  std::uint64_t tables[std::size(decltype(LayoutNote::tables){})] = {};

  bool is_known() const {
    static constexpr std::uint64_t kLayout = layout_of_records(sizeof(snug::Allocator));
    return layout == kLayout;
  }
};
const ClassTable* const kTables[] = {&kRoomyTable, &kDenseTable};
static_assert(std::size(kTables) == std::size(decltype(LayoutNote::tables){}));

UserError failure(const std::string& text) { return UserError(text, EXIT_FAILURE); }

// Of one with our layout it is known where in its allocator it is.
bool is_in_its_allocator(const FoundNote& note, std::uint64_t address) {
  return note.allocator != 0 && note.allocator % alignof(snug::Allocator) == 0 &&
         address_of(&at<snug::Allocator>(note.allocator)->layout) == address;
}

std::optional<FoundNote> note_at(const unsigned char* bytes, std::uint64_t address) {
  if (std::memcmp(bytes, LayoutNote::kMagic, sizeof LayoutNote::kMagic) != 0) return std::nullopt;
  std::uint64_t self = 0;
  std::memcpy(&self, bytes + offsetof(LayoutNote, self), sizeof self);
  if (self != address) return std::nullopt;
  FoundNote note;
  std::memcpy(&note.allocator, bytes + offsetof(LayoutNote, allocator), sizeof note.allocator);
  std::memcpy(&note.layout, bytes + offsetof(LayoutNote, layout), sizeof note.layout);
  std::memcpy(note.version, bytes + offsetof(LayoutNote, version), sizeof note.version);
  std::memcpy(note.tables, bytes + offsetof(LayoutNote, tables), sizeof note.tables);
  if (note.is_known() && !is_in_its_allocator(note, address)) return std::nullopt;
  return note;
}

struct FoundNotes {
  std::vector<FoundNote> known;  // each of another allocator
  std::optional<FoundNote> foreign;

  void add(const FoundNote& note) {
    if (!note.is_known())
      foreign = note;
    else if (known.size() != kMostAllocators)
      known.push_back(note);
  }
};

// Those in the segment: the allocator is data of a file that is mapped.
void find_notes(const MemoryImage& image, const MemoryImage::Segment& segment, FoundNotes& notes) {
  constexpr std::size_t kAtOnce = std::size_t{1} << 20;
  std::vector<unsigned char> bytes(kAtOnce + sizeof(LayoutNote));
  for (std::uint64_t at = 0; at < segment.bytes; at += kAtOnce) {
    // A hole may be longer than all that was ever written.
    const std::uint64_t data = image.data_from(segment.offset + at) - segment.offset;
    at = std::max(at, data / kPage * kPage);
    if (at >= segment.bytes) return;
    const std::size_t wanted = std::min<std::uint64_t>(bytes.size(), segment.bytes - at);
    const std::size_t count = image.read_file(segment.offset + at, bytes.data(), wanted);
    for (std::size_t i = 0; i < kAtOnce && i + sizeof(LayoutNote) <= count; i += alignof(LayoutNote))
      if (const auto note = note_at(bytes.data() + i, segment.start + at + i)) notes.add(*note);
    if (count != wanted) return;
  }
}

FoundNotes find_notes(const MemoryImage& image) {
  const bool names_files = std::any_of(image.segments().begin(), image.segments().end(),
                                       [](const MemoryImage::Segment& one) { return one.is_of_file; });
  FoundNotes notes;
  bool has_data = false;
  for (const MemoryImage::Segment& one : image.segments()) {
    if (!one.is_writable || (names_files && !one.is_of_file) || one.bytes == 0) continue;
    has_data = true;
    find_notes(image, one, notes);
  }
  if (!notes.known.empty() || notes.foreign) return notes;
  if (image.is_truncated())
    throw failure(fmt::format("{} is cut off, and no heap of snug's is in what is left", image.name()));
  throw failure(
      has_data ? fmt::format("{} has no heap of snug's: the process ran on another allocator", image.name())
               : fmt::format("{} has no data of the program and its libraries: it was not dumped (core(5) tells of "
                             "coredump_filter)",
                             image.name()));
}

// The child's findings, in memory that it shares with the tool.
struct Outcome {
  enum class Kind : std::uint32_t { kNone, kAnswered, kMissing, kDamaged, kTaken, kNoMemory, kNoFilter };
  Kind kind;
  int error;              // of kNoMemory and kNoFilter, as errno
  std::uint64_t missing;  // an address
  std::size_t bytes;
  char answers[1];
};

// What the child's handler of faults uses.
const MemoryImage* the_image = nullptr;
Outcome* the_outcome = nullptr;

[[noreturn]] void end_child(Outcome::Kind kind) {
  the_outcome->kind = kind;
  syscall(SYS_exit_group, 0);
  __builtin_unreachable();
}

[[noreturn]] void end_child(Outcome::Kind kind, int error) {
  the_outcome->error = error;
  end_child(kind);
}

[[noreturn]] void miss(std::uint64_t address) {
  the_outcome->missing = address;
  end_child(Outcome::Kind::kMissing);
}

bool is_needed(const MemoryImage::Segment& segment, const FoundNote& note) {
  return !segment.is_of_file || (note.allocator >= segment.start && note.allocator < segment.end);
}

// Gives the child the page at the address, and some behind it, as the process had them.
void bring_page(const MemoryImage::Segment& segment, std::uint64_t page) {
  std::uint64_t end = std::min(segment.end, (page / kReadAtOnce + 1) * kReadAtOnce);
  const std::uint64_t end_in_file = segment.start + segment.bytes / kPage * kPage;
  const bool is_in_file = page < end_in_file;
  if (is_in_file) end = std::min(end, end_in_file);
  // What was never written is not dumped, and reads as zero.
  if (!is_in_file && (segment.is_truncated || segment.is_of_file)) miss(page);
  if (mprotect(at<void>(page), end - page, PROT_READ | PROT_WRITE) != 0) end_child(Outcome::Kind::kNoMemory, errno);
  if (!is_in_file) return;
  const std::size_t got = the_image->read_file(segment.offset + (page - segment.start), at<void>(page), end - page);
  if (got < kPage) miss(page);
  const std::uint64_t end_of_got = page + got / kPage * kPage;
  if (end_of_got != end) mprotect(at<void>(end_of_got), end - end_of_got, PROT_NONE);
}

void take_fault(int, siginfo_t* info, void*) {
  const std::uint64_t address = address_of(info->si_addr);
  const MemoryImage::Segment* const segment = info->si_code == SEGV_ACCERR ? the_image->around(address) : nullptr;
  if (segment == nullptr) end_child(Outcome::Kind::kDamaged);
  bring_page(*segment, address / kPage * kPage);
}

// The addresses of what is needed, so that nothing of the child's comes to lie there.
void reserve(std::uint64_t start, std::uint64_t end, int protection) {
  void* const got = mmap(at<void>(start), end - start, protection,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (got == at<void>(start)) return;
  // An old kernel takes the address for a hint.
  if (got != MAP_FAILED || errno == EEXIST) end_child(Outcome::Kind::kTaken);
  end_child(Outcome::Kind::kNoMemory, errno);
}

// The library's constants are not dumped: the child has the tool's.
void lay_out_tables(const FoundNote& note) {
  for (std::size_t i = 0; i != std::size(kTables); ++i) {
    const std::uint64_t start = note.tables[i];
    const std::uint64_t end = start + sizeof(ClassTable);
    for (std::uint64_t page = start / kPage * kPage; page < end; page += kPage) {
      bool has_it = false;  // of the table before
      if (i != 0) has_it = page < note.tables[0] + sizeof(ClassTable) && page + kPage > note.tables[0];
      if (!has_it) reserve(page, page + kPage, PROT_READ | PROT_WRITE);
    }
    std::memcpy(at<void>(start), kTables[i], sizeof(ClassTable));
  }
}

void lay_out(const FoundNote& note) {
  const std::vector<Mapping> own = mappings_of(getpid());
  for (const MemoryImage::Segment& one : the_image->segments()) {
    if (!is_needed(one, note)) continue;
    // The first thread's stack has no records: it may lie where ours does.
    const bool is_under_stack = std::any_of(own.begin(), own.end(), [&](const Mapping& ours) {
      return ours.path == "[stack]" && ours.start < one.end && one.start < ours.end;
    });
    const bool is_kernels = std::any_of(own.begin(), own.end(), [&](const Mapping& ours) {
      return ours.path.starts_with("[v") && ours.start < one.end && one.start < ours.end;
    });
    if (!is_under_stack && !is_kernels) reserve(one.start, one.end, PROT_NONE);
  }
  lay_out_tables(note);
}

void forbid_system_calls() {
#if defined(__x86_64__)
  constexpr std::uint32_t kOurs = AUDIT_ARCH_X86_64;
#else
  constexpr std::uint32_t kOurs = AUDIT_ARCH_AARCH64;
#endif
  constexpr std::uint32_t kRefused = SECCOMP_RET_ERRNO | ENOSYS;
  sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kOurs, 0, 5),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pread64, 4, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 3, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, kRefused),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program = {static_cast<unsigned short>(std::size(rules)), rules};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    end_child(Outcome::Kind::kNoFilter, errno);
}

// In the child.
[[noreturn]] void answer(const FoundNote& note, const std::vector<std::uint64_t>& addresses, rlim_t most_seconds) {
  const rlimit seconds = {most_seconds, most_seconds};
  const rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CPU, &seconds);
  setrlimit(RLIMIT_CORE, &no_core);
  lay_out(note);
  struct sigaction action{};
  action.sa_sigaction = take_fault;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGSEGV, &action, nullptr);
  forbid_system_calls();
  ForkingThread::outlive_others();
  auto& its = *at<snug::Allocator>(note.allocator);
  its.revocation.after_fork_in_child();
  // These were written: if they are not there, memory without a name was not dumped, and nothing can be told.
  its.arena.for_each_mapping([](uintptr_t from, uintptr_t) {
    const MemoryImage::Segment* const segment = the_image->around(from);
    if (segment == nullptr || segment->bytes == 0) miss(from);
  });
  os::OutputStream out(the_outcome->answers, addresses.size() * kRoomOfAnswer);
  for (const std::uint64_t address : addresses) {
    Text<32> words;
    describe_address(its, Life::kEnded, words.add_hex(address).data(), out);
  }
  if (out.flush() != 0) end_child(Outcome::Kind::kDamaged);
  the_outcome->bytes = out.written();
  end_child(Outcome::Kind::kAnswered);
}

// Begins the tool anew with its mappings in another half of the addresses; does not return unless it is there already.
void move_elsewhere() {
  rlimit stack{};
  if (getrlimit(RLIMIT_STACK, &stack) != 0 || stack.rlim_cur == RLIM_INFINITY) return;
  stack.rlim_cur = RLIM_INFINITY;  // by this the kernel maps upwards from a third of what there is
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string line((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::vector<char*> words;
  for (std::size_t i = 0; i < line.size(); i += std::strlen(&line[i]) + 1) words.push_back(&line[i]);
  words.push_back(nullptr);
  if (setrlimit(RLIMIT_STACK, &stack) == 0) execv("/proc/self/exe", words.data());
}

std::vector<std::string> lines_of(const Outcome& outcome) {
  std::vector<std::string> lines;
  const std::string text(outcome.answers, outcome.bytes);
  for (std::size_t at = 0, end = 0; (end = text.find('\n', at)) != std::string::npos; at = end + 1)
    lines.push_back(text.substr(at, end - at));
  return lines;
}

// For another child: those before have used the rest.
rlim_t seconds_left() {
  rusage used{};
  getrusage(RUSAGE_CHILDREN, &used);
  const auto seconds = static_cast<rlim_t>(used.ru_utime.tv_sec + used.ru_stime.tv_sec);
  return kMostSeconds - std::min(seconds, kMostSeconds - 1);
}

std::vector<std::string> ask(const MemoryImage& image, const FoundNote& note,
                             const std::vector<std::uint64_t>& addresses) {
  const std::size_t bytes = sizeof(Outcome) + addresses.size() * kRoomOfAnswer;
  void* const shared = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) throw failure(fmt::format("no memory: {}", std::strerror(errno)));
  the_image = &image;
  the_outcome = static_cast<Outcome*>(shared);
  const rlim_t seconds = seconds_left();
  const pid_t child = fork();
  if (child < 0) throw failure(fmt::format("cannot start a process: {}", std::strerror(errno)));
  if (child == 0) answer(note, addresses, seconds);
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) continue;
  const Outcome& outcome = *the_outcome;
  switch (outcome.kind) {
    case Outcome::Kind::kMissing:
      throw failure(fmt::format(
          "{} {}: snug's records at {:#x} are missing", image.name(),
          image.is_truncated() ? "is cut off" : "has not all memory in it (core(5) tells of coredump_filter)",
          outcome.missing));
    case Outcome::Kind::kTaken:
      move_elsewhere();
      throw failure(
          fmt::format("{}: its addresses are taken in this process (is their randomization off?)", image.name()));
    case Outcome::Kind::kNoMemory:
      throw failure(fmt::format("{}: no memory at its addresses: {}", image.name(), std::strerror(outcome.error)));
    case Outcome::Kind::kNoFilter:
      throw failure(fmt::format("{}: it is not read without a filter of system calls, which the kernel refuses: {}",
                                image.name(), std::strerror(outcome.error)));
    case Outcome::Kind::kAnswered:
      if (outcome.bytes <= addresses.size() * kRoomOfAnswer) {
        const std::vector<std::string> lines = lines_of(outcome);
        munmap(shared, bytes);
        if (lines.size() == addresses.size()) return lines;
      }
      break;
    default:
      break;
  }
  throw failure(fmt::format("{}: the records of the heap are damaged", image.name()));
}

bool is_none(const std::string& answer) { return answer.find("\"what\":\"none\"") != std::string::npos; }

}  // namespace

std::vector<std::string> answers_of(const MemoryImage& image, const std::vector<std::uint64_t>& addresses) {
  const FoundNotes notes = find_notes(image);
  std::vector<std::string> answers;
  std::vector<UserError> faults;
  for (const FoundNote& note : notes.known) {
    try {
      const std::vector<std::string> its = ask(image, note, addresses);
      if (answers.empty()) answers = its;
      for (std::size_t i = 0; i != addresses.size(); ++i)
        if (is_none(answers[i])) answers[i] = its[i];
    } catch (const UserError& fault) {
      faults.push_back(fault);
    }
  }
  if (const auto& its = notes.foreign)
    faults.push_back(failure(
        fmt::format("{}: its libsnug {}.{}.{} is of another build than this tool, {}.{}.{}, which knows other records",
                    image.name(), its->version[0], its->version[1], its->version[2], SNUG_VERSION_MAJOR,
                    SNUG_VERSION_MINOR, SNUG_VERSION_PATCH)));
  if (answers.empty()) throw faults.front();
  // Another heap of the process's: what is told of the rest is good.
  for (const UserError& fault : faults) say("snug: passed over: {}\n", fault.what());
  return answers;
}

}  // namespace snug::tool
