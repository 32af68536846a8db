#include "traces/trace_input.h"

#include <fmt/format.h>
#include <unistd.h>

#include <optional>
#include <sstream>

#include "text/printable.h"
#include "text/user_error.h"

namespace snug::tool {

namespace {

constexpr std::uint64_t kMostTold = 10;
constexpr std::uint64_t kEventsBetweenLooks = std::uint64_t{1} << 20;

}  // namespace

TraceInput::TraceInput(const std::string& path, Telling telling)
    : path_(path),
      damage_([this, telling](std::uint64_t offset, const std::string& what) {
        if (telling == Telling::kNothing) return;
        if (told_++ < kMostTold) fmt::print(stderr, "snug: {}:{}: {}\n", printable(path_), offset, what);
      }),
      shows_progress_(telling == Telling::kAll && isatty(STDERR_FILENO) == 1),
      begun_(std::chrono::steady_clock::now()) {
  std::string fault;
  source_ = trace::open_source(path, fault);
  if (source_ == nullptr) throw UserError(fmt::format("'{}' cannot be read: {}", path, fault));
  std::optional<trace::ChunkDirectory> directory = trace::ChunkDirectory::read(*source_, damage_, fault);
  if (!directory) throw UserError(fmt::format("{}:0: {}", path, fault));
  directory_ = std::make_unique<trace::ChunkDirectory>(std::move(*directory));
  facts_ = trace::read_facts(*source_, *directory_, damage_);
  reader_ = std::make_unique<trace::TraceReader>(*source_, *directory_, damage_);
}

TraceInput::~TraceInput() {
  if (shows_progress_ && events_ >= kEventsBetweenLooks) fmt::print(stderr, "\r\033[K");
  if (told_ > kMostTold) fmt::print(stderr, "snug: {}: and {} more\n", printable(path_), told_ - kMostTold);
  if (told_ == 0) return;
  fmt::print(stderr, "snug: {}: {} damaged chunk(s) passed over, {} missing; the rest was read\n", printable(path_),
             damage_.damaged_chunks(), damage_.missing_chunks());
}

bool TraceInput::next(trace::Event& event) {
  if (!reader_->next(event)) return false;
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
  fmt::print(stderr, "\rsnug: {}: {} M events{}\033[K", printable(path_), events_ / 1'000'000, rest);
  std::fflush(stderr);
}

std::optional<std::string> TraceInput::fact(std::string_view key) const {
  std::istringstream lines(facts_);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(key) && line.substr(key.size(), 1) == "\t") return line.substr(key.size() + 1);
  return std::nullopt;
}

std::uint64_t TraceInput::told_events() const {
  std::uint64_t events = 0;
  for (const trace::IndexEntry& chunk : directory_->chunks()) events += chunk.header.events;
  return events;
}

std::uint64_t TraceInput::plain_bytes() const {
  std::uint64_t bytes = 0;
  for (const trace::IndexEntry& chunk : directory_->chunks())
    if (chunk.header.kind == trace::ChunkKind::kEvents) bytes += chunk.header.plain_bytes;
  return bytes;
}

std::uint16_t TraceInput::chunk_flags() const {
  std::uint16_t flags = 0;
  for (const trace::IndexEntry& chunk : directory_->chunks()) flags |= chunk.header.flags;
  return flags & trace::kWithStacks;
}

}  // namespace snug::tool
