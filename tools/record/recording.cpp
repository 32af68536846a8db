#include "record/recording.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <thread>
#include <utility>

#include "print/say.h"
#include "process/page_map.h"
#include "process/process_memory.h"
#include "text/user_error.h"

namespace snug::tool {

namespace fs = std::filesystem;

using recorder::RingState;

namespace {

constexpr std::size_t kEventsATurn = 16384;           // of one process, before the others have theirs
constexpr std::size_t kAllEvents = recorder::kSlots;  // that are there: no more may be, though more may come meanwhile
// With fewer new slots the reader has time: one that reads slots as soon as they are written takes from the writer,
// again and again, the cache line that it is about to write.
constexpr std::size_t kWorthHurrying = recorder::kSlots / 8;
constexpr std::chrono::milliseconds kSampleEvery{100};
// mallinfo2 goes through all free blocks: it is asked so seldom that it takes a hundredth of the time at most.
constexpr std::int64_t kTimesOfMallinfo = 100;
// To read a process's resident memory takes some 20 us, in which so many events come at most.
constexpr std::uint64_t kEventsOfReading = 512;
constexpr int kMostReadings = 5;
// To look at the pages of what lives takes some 10 ns a page: a sample is taken so seldom that all take a tenth of the
// time.
constexpr int kTimesOfSample = 10;
constexpr std::chrono::seconds kSaveEvery{1};
constexpr std::chrono::milliseconds kLastWait{100};  // for events that are under way when the recording ends

// Memory, where there is such a folder: a disk would write every event twice.
fs::path parent_folder() {
  std::error_code error;
  const fs::path memory = "/dev/shm";
  return fs::is_directory(memory, error) && access(memory.c_str(), W_OK | X_OK) == 0 ? memory
                                                                                     : fs::temp_directory_path();
}

// As long as this process lives, and is no zombie.
int lock_folder(const fs::path& folder) {
  const fs::path path = folder / recorder::kCollectorFile;
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0 || flock(file, LOCK_EX | LOCK_NB) != 0)
    throw UserError(fmt::format("cannot lock '{}': {}", path.string(), std::strerror(errno)));
  return file;
}

// The kernel's name of it is "pid:[NUMBER]".
std::string pid_namespace() {
  std::error_code error;
  const std::string name = fs::read_symlink("/proc/self/ns/pid", error).string();
  const std::size_t begin = name.find('[') + 1;
  return begin == 0 ? "0" : name.substr(begin, name.find(']') - begin);
}

std::string name_of(const RingFile& ring) { return fmt::format("process {}", ring.process()); }

// As one field of a line of facts.
std::string field(std::string text) {
  text.resize(text.find_last_not_of('\0') + 1);
  for (char& character : text)
    if (character == '\0' || character == '\n' || character == '\t') character = ' ';
  return text;
}

std::string arguments_of(const recorder::Ring& ring) { return field({ring.arguments, sizeof ring.arguments}); }

}  // namespace

Recording::Recording(fs::path file, int level, bool with_stacks)
    : folder_(parent_folder()),
      lock_(lock_folder(folder_.path())),
      file_(std::move(file), level),
      with_stacks_(with_stacks) {}

Recording::~Recording() { close(lock_); }

void Recording::prepare(Environment& environment, const std::string& recorder, const std::string& library) const {
  if (!library.empty()) environment.preload(library);
  environment.preload(recorder);
  std::uint64_t asked_for = 0;
  if (has_even_ticks()) asked_for |= recorder::kAsksForTicks;
  if (with_stacks_) asked_for |= recorder::kAsksForStacks;
  struct stat parent{};
  stat(folder_.path().parent_path().c_str(), &parent);
  environment.set(recorder::kSessionVariable, fmt::format("{}:{}:{}:{}:{}:{}", getpid(), pid_namespace(), asked_for,
                                                          parent.st_dev, parent.st_ino, folder_.path().string()));
}

void Recording::pause() {
  if (is_paused_) return;
  is_paused_ = true;
  std::ofstream(folder_.path() / recorder::kPausedFile).flush();
  discover();
  with_each([](Running& running) {
    running.ring.let_sizes_be_told();
    running.ring.set_state(RingState::kPaused);
    take_events(running, kAllEvents);
    running.trace->pause(running.trace->clock().now());
  });
}

void Recording::resume() {
  if (!is_paused_) return;
  discover();
  is_paused_ = false;
  fs::remove(folder_.path() / recorder::kPausedFile);
  with_each([](Running& running) {
    // Of a thread that was told to stop in the middle of it.
    take_events(running, kAllEvents);
    running.trace->resume(running.trace->clock().now());
    running.ring.set_state(RingState::kOn);
  });
}

void Recording::save_all() {
  discover();
  with_each([](Running& running) {
    take_events(running, kAllEvents);
    running.trace->save_all();
  });
}

template <class Work>
bool Recording::attempt(const std::string& what, Work work) {
  try {
    work();
    return true;
  } catch (const UserError& error) {
    say("snug record: {} is not recorded further: {}\n", what, error.what());
    has_failed_ = true;
    return false;
  }
}

// Each process would fail at it, one by one.
void Recording::end_unless_written() {
  if (!is_over_) {
    try {
      file_.expect_written();
    } catch (const UserError& error) {
      say("snug record: nothing is recorded further: {}\n", error.what());
      has_failed_ = true;
      is_over_ = true;
    }
  }
  if (is_over_) running_.clear();  // they need not wait for room
}

template <class Work>
void Recording::with_each(Work work) {
  std::erase_if(running_, [&](Running& running) { return !attempt(name_of(running.ring), [&] { work(running); }); });
  end_unless_written();
}

void Recording::mark_ended() {
  for (Running& running : running_) running.has_ended = running.ring.has_ended();
}

Collected Recording::collect() {
  Collected most = discover() ? Collected::kMuch : Collected::kNothing;
  std::erase_if(running_, [&](Running& running) {
    After after = After::kIsOver;
    attempt(name_of(running.ring), [&] { after = collect(running, most); });
    return after == After::kIsOver;
  });
  end_unless_written();
  return most;
}

Recording::After Recording::collect(Running& running, Collected& most) {
  const bool has_ended = running.has_ended;
  running.trace->mark_gone_threads();
  const std::size_t taken = take_events(running, kEventsATurn);
  save(running);
  const bool has_passed_over = taken == 0 && running.ring.pass_over(Clock::now());
  if (taken >= kWorthHurrying || has_ended || has_passed_over)
    most = Collected::kMuch;
  else if (taken != 0)
    most = std::max(most, Collected::kSome);
  if (has_ended) {
    finish(running);
    return After::kIsOver;
  }
  if (Clock::now() < running.next_sample) return After::kRuns;
  const Clock::time_point begin = Clock::now();
  running.next_sample = begin + kSampleEvery;
  if (finish_if_unrecorded(running)) return After::kIsOver;
  sample(running);
  running.next_sample = std::max(running.next_sample, begin + kTimesOfSample * (Clock::now() - begin));
  return After::kRuns;
}

// What waits for its place among the events is added there.
std::size_t Recording::take_events(Running& running, std::size_t most) {
  std::size_t all = 0;
  std::size_t wanted = 0;
  std::size_t taken = 0;
  do {
    running.trace->catch_up();
    wanted = std::min<std::uint64_t>(most - all, running.trace->events_before_waiting());
    taken = running.ring.drain(
        wanted, [&](const recorder::RingEvent& event) { running.trace->expect(event); },
        [&](const recorder::RingEvent& event) { running.trace->take(event); });
    all += taken;
  } while (taken == wanted && all < most);
  running.trace->catch_up();
  return all;
}

void Recording::note_exit(pid_t process, int status) {
  for (Running& running : running_)
    if (running.ring.process() == process) running.status = status;
}

// Those that run on stop telling first. What they have tickets for is there within a few stores.
void Recording::finish() {
  discover();
  for (Running& running : running_) running.ring.set_state(RingState::kPaused);
  for (Running& running : running_) {
    const Clock::time_point patience = Clock::now() + kLastWait;
    for (;;) {
      take_events(running, kAllEvents);
      if (running.ring.is_drained() || Clock::now() >= patience) break;
      std::this_thread::yield();
    }
    attempt(name_of(running.ring), [&] { finish(running); });
  }
  running_.clear();
  struct stat status{};
  if (fstat(lock_, &status) == 0 && (status.st_mode & recorder::kSomeAreLost) != 0)
    lost_.push_back({.process = 0, .reason = "there was no room even to say why"});
  std::ranges::sort(finished_, {}, &RecordedProcess::number);
  end_unless_written();
  if (!is_over_) is_over_ = !attempt("the recording", [&] { file_.finish(); });
}

bool Recording::take_lost(const fs::path& path) {
  const std::string name = path.filename();
  if (!name.starts_with(recorder::kLostPrefix)) return false;
  std::error_code error;
  const std::string reason = fs::read_symlink(path, error);
  fs::remove(path, error);
  const std::string number = name.substr(std::strlen(recorder::kLostPrefix));
  lost_.push_back({.process = static_cast<pid_t>(std::strtol(number.c_str(), nullptr, 10)), .reason = reason});
  return true;
}

bool Recording::discover() {
  std::vector<RingFile> found;
  std::error_code none;  // for want of a descriptor, there is nothing to be found for the moment
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_.path(), none)) {
    const fs::path path = entry.path();
    if (take_lost(path)) continue;
    if (!path.filename().string().starts_with(recorder::kRingPrefix) || given_up_.contains(path)) continue;
    const bool is_well = attempt(path.filename(), [&] {
      if (auto ring = RingFile::open(path)) found.push_back(std::move(*ring));
    });
    if (!is_well) given_up_.insert(path);
  }
  std::vector<std::size_t> order(found.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::sort(order, {}, [&](std::size_t i) { return found[i].ring().began; });
  for (const std::size_t i : order) attempt(name_of(found[i]), [&] { begin(std::move(found[i])); });
  return !found.empty();
}

// The process has executed another program: no thread of the old one is left.
void Recording::end_for_exec(const RingFile& next) {
  const auto old =
      std::ranges::find(running_, next.process(), [](const Running& running) { return running.ring.process(); });
  if (old == running_.end()) return;
  attempt(name_of(old->ring), [&] { finish_at_exec(*old, next.ring().program); });
  running_.erase(old);
}

void Recording::finish_at_exec(Running& running, const std::string& next) {
  take_events(running, kAllEvents);
  running.trace->exec(next);
  finish(running);
}

void Recording::begin(RingFile ring) {
  if (is_over_) return;
  end_for_exec(ring);
  std::string facts = fmt::format("program\t{}\narguments\t{}\nallocator\t{}\nrecorder\tsnug record\n",
                                  field(ring.ring().program), arguments_of(ring.ring()), field(ring.ring().allocator));
  if (ring.ring().forked_from != 0) facts += fmt::format("parent\t{}\n", ring.ring().forked_from);
  if (PageMap(ring.process()).is_open()) facts += fmt::format("touched\t{}\n", recorder::kLeastLookedAt);
  // It may have looked for the file just before that came or went.
  if (is_paused_) ring.let_sizes_be_told();
  ring.set_state(is_paused_ ? RingState::kPaused : RingState::kOn);
  trace::ChunkFile* chunks = nullptr;
  try {
    chunks = &file_.chunks(ring.ring().process, ring.ring().began_at);
  } catch (const UserError&) {
    is_over_ = true;  // no other process fares better
    throw;
  }
  auto trace = std::make_unique<ProcessTrace>(*chunks, ++numbers_, ring.ring(), RingClock(ring.ring(), began_),
                                              file_.level(), facts);
  const auto parent =
      std::ranges::find(running_, ring.ring().forked_from, [](const Running& one) { return one.ring.ring().process; });
  if (parent != running_.end()) trace->heap().mapped() = parent->trace->heap().mapped();
  const Clock::time_point now = Clock::now();
  running_.push_back({.number = numbers_,
                      .ring = std::move(ring),
                      .trace = std::move(trace),
                      .next_sample = now,
                      .next_save = now + kSaveEvery});
}

// Which file it is tells, not its name: a program may be renamed, and stand elsewhere in the process's own view.
bool Recording::finish_if_unrecorded(Running& running) {
  const recorder::Ring& ring = running.ring.ring();
  const std::string program = fmt::format("/proc/{}/exe", running.ring.process());
  struct stat status{};
  if (ring.program_number == 0 || stat(program.c_str(), &status) != 0) return false;
  if (status.st_dev == ring.program_device && status.st_ino == ring.program_number) return false;
  std::error_code error;
  finish_at_exec(running, fs::read_symlink(program, error));
  return true;
}

// Before the resident memory is read: a process that is busy answers while that is done.
void Recording::ask_allocator(Running& running) const {
  if (Clock::now() < running.next_question) return;
  const std::chrono::nanoseconds took(running.trace->mallinfo_steps() * trace::kNanosecondsPerStep);
  running.next_question = Clock::now() + kTimesOfMallinfo * took;
  running.ring.ask_allocator();
}

// The sample stands behind what has been told by now. The collector may have lost the processor while it read, and what
// it has is old then: it reads again.
void Recording::sample(Running& running) const {
  ask_allocator(running);
  for (int attempt = 0; attempt < kMostReadings; ++attempt) {
    const std::uint64_t told = running.ring.ring().next.load(std::memory_order_acquire);
    const std::optional<ResidentMemory> resident = resident_memory_of(running.ring.process());
    if (!resident) return;
    const std::uint64_t seen = running.ring.ring().next.load(std::memory_order_acquire);
    const bool is_late = seen - told > kEventsOfReading;
    if (is_late && attempt + 1 < kMostReadings) continue;
    const std::uint64_t now = running.trace->clock().now();
    running.trace->look_at_blocks(now, seen);
    const bool has_forked = running.ring.ring().has_forked.load(std::memory_order_relaxed);
    if (const auto heap = running.trace->heap().bytes_among(resident->anonymous, has_forked))
      running.trace->sample(now, trace::Measure::kHeap, *heap, seen);
    // The ring, which the process would not have otherwise, is left out.
    const std::uint64_t most = read_process_memory(running.ring.process()).peak;
    if (most > running.ring.touched_bytes())
      running.trace->sample(now, trace::Measure::kMostResident, most - running.ring.touched_bytes(), seen);
    const std::uint64_t all = resident->all - std::min(resident->all, running.ring.touched_bytes());
    running.trace->sample(now, trace::Measure::kResident, all, seen);
    return;
  }
}

void Recording::save(Running& running) const {
  if (Clock::now() < running.next_save) return;
  running.next_save = Clock::now() + kSaveEvery;
  running.trace->clock().check(ClockReading::now());
  running.trace->save(running.trace->clock().now());
}

void Recording::finish(Running& running) {
  take_events(running, kAllEvents);
  const std::size_t unfinished =
      running.ring.drain_rest([&](const recorder::RingEvent& event) { running.trace->take(event); });
  if (running.status) running.trace->exit(*running.status);
  running.trace->finish(unfinished);
  const recorder::Ring& ring = running.ring.ring();
  finished_.push_back({.number = running.number,
                       .process = running.ring.process(),
                       .forked_from = static_cast<pid_t>(ring.forked_from),
                       .program = ring.program,
                       .arguments = arguments_of(ring),
                       .counts = running.trace->counts()});
}

}  // namespace snug::tool
