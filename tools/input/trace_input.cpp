#include "input/trace_input.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "input/line_trace.h"
#include "input/moment.h"
#include "print/say.h"
#include "text/printable.h"
#include "text/user_error.h"

namespace snug::tool {

namespace {

constexpr std::uint64_t kMostTold = 10;
constexpr std::uint64_t kEventsBetweenLooks = std::uint64_t{1} << 20;

// It begins as a trace, and ends within its header.
bool is_cut_short(trace::Source& source) {
  std::uint64_t begin = trace::kFileMagic;
  const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(source.size(), sizeof begin));
  return source.size() < sizeof(trace::FileHeader) && source.read(0, &begin, count) && begin == trace::kFileMagic;
}

// As heaptrack's files are, by zstd or gzip.
bool is_compressed(trace::Source& source) {
  std::uint8_t begin[4] = {};
  if (!source.read(0, begin, sizeof begin)) return false;
  const bool is_zstd = begin[0] == 0x28 && begin[1] == 0xb5 && begin[2] == 0x2f && begin[3] == 0xfd;
  return is_zstd || (begin[0] == 0x1f && begin[1] == 0x8b);
}
constexpr const char* kImportIt =
    ", and is compressed: a file of heaptrack's, say, which snug trace import makes one of";

}  // namespace

TraceInput::TraceInput(const std::string& path, Telling telling, const std::string& choice)
    : path_(path),
      damage_([this, telling](std::uint64_t offset, const std::string& what) {
        if (telling == Telling::kNothing) return;
        if (told_++ < kMostTold) say("snug: {}:{}: {}\n", printable(path_), offset, what);
      }),
      shows_progress_(telling == Telling::kAll && isatty(STDERR_FILENO) == 1),
      begun_(std::chrono::steady_clock::now()) {
  std::string fault;
  source_ = trace::open_source(path, fault);
  if (source_ == nullptr) throw UserError(fmt::format("'{}' cannot be read: {}", path, fault));
  if (source_->size() == 0)
    throw UserError(fmt::format("'{}' is empty: nothing has been written into it, or all of it is lost", path),
                    kExitDamaged);
  if (begins_with_lines(*source_)) source_ = trace_of_lines(path);
  std::optional<trace::ChunkDirectory> directory = trace::ChunkDirectory::read(*source_, damage_, fault);
  if (!directory)
    throw UserError(fmt::format("{}:0: {}{}", path, fault, is_compressed(*source_) ? kImportIt : ""),
                    is_cut_short(*source_) ? kExitDamaged : kExitUsage);
  directories_ = directory->by_process();
  if (directories_.empty()) directories_.emplace(1, std::move(*directory));
  index_ = std::make_unique<ProcessIndex>(*source_, directories_);
  const TracedProcess* const chosen = choice.empty() ? &index_->most() : index_->find(choice);
  if (chosen == nullptr)
    throw UserError(fmt::format("{}: no process '{}' is in it; `snug trace info` lists the {} that are", path, choice,
                                index_->processes().size()));
  choose(*chosen);
  if (choice.empty() && telling == Telling::kAll) say("{}", choice_text());
}

void TraceInput::choose(const TracedProcess& process) {
  process_ = &process;
  events_ = 0;
  trace::read_facts(*source_, directory(), damage_);  // for what is damaged of them
  reader_ = std::make_unique<trace::TraceReader>(*source_, directory(), damage_);
}

void TraceInput::end_at(const TraceMoment& moment) { end_ = std::make_unique<const TraceMoment>(moment); }

TraceInput::~TraceInput() {
  if (shows_progress_ && events_ >= kEventsBetweenLooks) say("\r\033[K");
  if (told_ > kMostTold) say("snug: {}: and {} more\n", printable(path_), told_ - kMostTold);
  if (told_ == 0) return;
  say("snug: {}: {} damaged chunk(s) passed over, {} missing; the rest was read\n", printable(path_),
      damage_.damaged_chunks(), damage_.missing_chunks());
}

bool TraceInput::next(trace::Event& event) {
  if (!reader_->next(event)) return false;
  if (end_ != nullptr && end_->is_before(event, events_)) return false;
  if (++events_ % kEventsBetweenLooks == 0 && shows_progress_) show_progress();
  return true;
}

void TraceInput::show_progress() {
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun_).count();
  std::string rest;
  if (const std::uint64_t all = told_events(); all > events_) {
    const double share = static_cast<double>(events_) / static_cast<double>(all);
    rest = fmt::format(", {:.0f}%, about {:.0f} s left", share * 100, seconds / share - seconds);
  }
  say("\rsnug: {}: {} M events{}\033[K", printable(path_), events_ / 1'000'000, rest);
  std::fflush(stderr);
}

std::string TraceInput::choice_text() const {
  const std::size_t count = index_->processes().size();
  if (count == 1) return "";
  return fmt::format("snug: {}: of {} processes number {}, which allocates most: {} (--process takes another)\n",
                     printable(path_), count, process_->number, process_->command());
}

std::uint64_t TraceInput::told_events() const {
  std::uint64_t events = 0;
  for (const trace::IndexEntry& chunk : directory().chunks()) events += chunk.header.events;
  return events;
}

void TraceInput::expect_events() {
  if (told_events() != 0) return;
  trace::Damage untold;  // it is told where the events are read
  trace::Event event;
  if (trace::TraceReader(*source_, directory(), untold).next(event)) return;
  throw UserError(fmt::format("{}: no event is in it", printable(path_)), kExitDamaged);
}

std::uint64_t TraceInput::plain_bytes() const {
  std::uint64_t bytes = 0;
  for (const trace::IndexEntry& chunk : directory().chunks())
    if (chunk.header.kind == trace::ChunkKind::kEvents) bytes += chunk.header.plain_bytes;
  return bytes;
}

std::uint16_t TraceInput::chunk_flags() const {
  std::uint16_t flags = 0;
  for (const trace::IndexEntry& chunk : directory().chunks()) flags |= chunk.header.flags;
  return flags & trace::kWithStacks;
}

}  // namespace snug::tool
