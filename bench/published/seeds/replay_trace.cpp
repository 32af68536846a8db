#include "replay_trace.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <ext/stdio_filebuf.h>

#include <cerrno>
#include <cstring>
#include <iostream>
#include <unordered_map>
#include <vector>

#include "input/allocation_trace.h"
#include "seed_command.h"

namespace seeds {

namespace {

using snug::tool::AllocationTrace;
using snug::tool::NumberedLines;
using snug::tool::TraceEvent;
using snug::tool::UserError;

// Address space alone: only what steps are written to is memory. Five times the traces of the paper.
constexpr size_t kMostSteps = size_t{1} << 29;

// What the child that reads tells its parent, in memory that both see, before the steps.
struct Told {
  size_t steps;
  size_t slots;
  char fault[1000];  // empty if there is none
};
constexpr size_t kStepsOffset = 4096;
static_assert(sizeof(Told) <= kStepsOffset);

constexpr size_t mapped_bytes(size_t steps) { return kStepsOffset + steps * sizeof(TraceStep); }

class StepWriter {
 public:
  explicit StepWriter(TraceStep* steps) : steps_(steps) {}

  void write(const TraceEvent& event, const NumberedLines& lines) {
    if (count_ + 2 > kMostSteps) throw lines.fault(fmt::format("more than {} steps", kMostSteps));
    if (event.frees()) {
      const auto block = slots_.find(event.freed_key);
      steps_[count_++] = {block->second, TraceStep::kFrees};
      spare_.push_back(block->second);
      slots_.erase(block);
    }
    if (!event.allocates()) return;
    if (event.bytes >= TraceStep::kFrees)
      throw lines.fault(fmt::format("a block of {} bytes cannot be replayed: less than 4 GiB can", event.bytes));
    const uint32_t slot = spare_.empty() ? static_cast<uint32_t>(highest_++) : spare_.back();
    if (!spare_.empty()) spare_.pop_back();
    slots_.emplace(event.key, slot);
    steps_[count_++] = {slot, static_cast<uint32_t>(event.bytes)};
  }

  size_t steps() const { return count_; }
  size_t slots() const { return highest_; }

 private:
  TraceStep* steps_;
  size_t count_ = 0;
  size_t highest_ = 0;
  std::unordered_map<uint64_t, uint32_t> slots_;  // of live keys
  std::vector<uint32_t> spare_;
};

bool is_packed(const std::string& path) { return path.ends_with(".gz"); }

// A descriptor that gives what gzip makes of the file.
int unpacking(int packed, pid_t& gzip) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw UserError(fmt::format("no pipe: {}", std::strerror(errno)));
  gzip = fork();
  if (gzip == 0) {
    const int silence = open("/dev/null", O_WRONLY | O_CLOEXEC);
    dup2(packed, STDIN_FILENO);
    dup2(ends[1], STDOUT_FILENO);
    dup2(silence, STDERR_FILENO);
    execlp("gzip", "gzip", "-dc", static_cast<char*>(nullptr));
    _exit(127);
  }
  close(ends[1]);
  if (gzip < 0) throw UserError(fmt::format("no process for gzip: {}", std::strerror(errno)));
  return ends[0];
}

void expect_unpacked(const std::string& path, pid_t gzip) {
  int status = 0;
  if (waitpid(gzip, &status, 0) < 0 || status != 0) throw UserError(fmt::format("{}: gzip cannot unpack it", path));
}

void read_steps(const std::string& path, StepWriter& writer) {
  int file = path == "-" ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) throw UserError(fmt::format("cannot read {}: {}", path, std::strerror(errno)));
  pid_t gzip = 0;
  if (is_packed(path)) file = unpacking(file, gzip);
  __gnu_cxx::stdio_filebuf<char> buffer(file, std::ios::in, size_t{1} << 16);
  std::istream text(&buffer);
  NumberedLines lines(text, path == "-" ? "standard input" : path);
  AllocationTrace trace(lines);
  while (const std::optional<TraceEvent> event = trace.next()) writer.write(*event, lines);
  // gzip's fault comes first: a text that it gave up is most often empty.
  if (gzip != 0) expect_unpacked(path, gzip);
  if (writer.slots() == 0) throw lines.fault_of_text("the trace allocates nothing");
}

// Runs in the child.
[[noreturn]] void tell(const std::string& path, Told* told, TraceStep* steps) {
  try {
    StepWriter writer(steps);
    read_steps(path, writer);
    told->slots = writer.slots();
    told->steps = writer.steps();
  } catch (const std::exception& fault) {
    std::snprintf(told->fault, sizeof told->fault, "%s", fault.what());
  }
  _exit(0);
}

std::string bare_name(const std::string& path) {
  const std::string file = path.substr(path.rfind('/') + 1);
  return path == "-" ? "stdin" : file.substr(0, file.find('.', 1));
}

}  // namespace

ReplayTrace::ReplayTrace(const std::string& path) : name_(bare_name(path)) {
  void* const shared = mmap(nullptr, mapped_bytes(kMostSteps), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (shared == MAP_FAILED) fail(std::string("no address space for a trace: ") + std::strerror(errno));
  auto* const told = static_cast<Told*>(shared);
  steps_ = reinterpret_cast<TraceStep*>(static_cast<char*>(shared) + kStepsOffset);
  std::fflush(nullptr);
  const pid_t reader = fork();
  if (reader == 0) tell(path, told, steps_);
  int status = 0;
  if (reader < 0 || waitpid(reader, &status, 0) < 0 || status != 0)
    fail(path + ": the process that read it was killed");
  if (told->fault[0] != '\0') fail(told->fault, 2);
  size_ = told->steps;
  slots_ = told->slots;
  // The rest of the reservation goes.
  const size_t used = (mapped_bytes(size_) + 4095) & ~size_t{4095};
  munmap(static_cast<char*>(shared) + used, mapped_bytes(kMostSteps) - used);
}

ReplayTrace::~ReplayTrace() { munmap(reinterpret_cast<char*>(steps_) - kStepsOffset, mapped_bytes(size_)); }

void ReplayTrace::touch() const {
  constexpr size_t kStepsAPage = 4096 / sizeof(TraceStep);
  const volatile TraceStep* const steps = steps_;
  for (size_t at = 0; at < size_; at += kStepsAPage) static_cast<void>(steps[at].slot);
}

}  // namespace seeds
