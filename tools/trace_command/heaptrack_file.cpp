#include "trace_command/heaptrack_file.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "trace_command/hexadecimal.h"

namespace snug::tool {

namespace {

constexpr std::uint64_t kPageBytes = 4096;
constexpr std::uint64_t kStepsPerMillisecond = 1'000'000 / trace::kNanosecondsPerStep;
constexpr std::uint64_t kNewestVersion = 3;

// Allocations of one size and stack, and the keys of those that live, newest last.
struct AllocationKind {
  std::uint64_t bytes;
  std::vector<std::uint64_t> live = {};
};

class HeaptrackFile {
 public:
  HeaptrackFile(NumberedLines& lines, ImportedBlocks& blocks) : lines_(lines), blocks_(blocks) {}

  void read() {
    while (lines_.next()) take_line(lines_.line());
    if (!has_version_) throw lines_.fault_of_text("no file of heaptrack's: no line tells its version (\"v \")");
  }

 private:
  void take_line(std::string_view line) {
    if (line.size() < 3 || line[1] != ' ') return;
    const std::string_view rest = line.substr(2);
    switch (line[0]) {
      case 'v':
        check_version(rest);
        break;
      case 'a':
        kinds_.push_back({hexadecimal(word(rest), lines_)});
        break;
      case '+':
        if (std::ranges::count(rest, ' ') == 2) {
          is_raw_ = true;
          blocks_.allocate(hexadecimal(rest.substr(rest.rfind(' ') + 1), lines_), hexadecimal(word(rest), lines_));
          break;
        }
        kind_of(rest).live.push_back(next_key_);
        blocks_.allocate(next_key_++, kind_of(rest).bytes);
        break;
      case '-':
        if (is_raw_) {
          blocks_.free(hexadecimal(word(rest), lines_));
          break;
        }
        free_one(kind_of(rest));
        break;
      case 'c':
        set_time(hexadecimal(word(rest), lines_));
        break;
      case 'R':
        blocks_.add_sample(trace::Measure::kResident, hexadecimal(word(rest), lines_) * kPageBytes);
        break;
      default:
        break;  // strings, modules, stacks
    }
  }

  static std::string_view word(std::string_view rest) { return rest.substr(0, rest.find(' ')); }

  // Version 2 and 3 differ in what strings look like.
  void check_version(std::string_view rest) {
    has_version_ = true;
    const std::size_t space = rest.find(' ');
    const std::uint64_t version =
        space == std::string_view::npos ? 1 : hexadecimal(word(rest.substr(space + 1)), lines_);
    if (version > kNewestVersion)
      throw lines_.fault(fmt::format("version {} of heaptrack's format; known are 1 to {}", version, kNewestVersion));
  }

  AllocationKind& kind_of(std::string_view rest) {
    const std::uint64_t kind = hexadecimal(word(rest), lines_);
    if (kind >= kinds_.size()) throw lines_.fault(fmt::format("there is no allocation {:x}", kind));
    return kinds_[kind];
  }

  void free_one(AllocationKind& kind) {
    if (kind.live.empty()) throw lines_.fault("more blocks of this allocation are freed than came");
    blocks_.free(kind.live.back());
    kind.live.pop_back();
  }

  // Events are more than 64 ns apart on average, so that time rarely has run ahead.
  void set_time(std::uint64_t milliseconds) {
    time_ = std::max(time_, std::min(milliseconds, trace::kMostTime / kStepsPerMillisecond) * kStepsPerMillisecond);
    blocks_.set_time(time_);
  }

  NumberedLines& lines_;
  ImportedBlocks& blocks_;
  std::vector<AllocationKind> kinds_;
  bool has_version_ = false;
  bool is_raw_ = false;  // of heaptrack -r: blocks are named by their addresses
  std::uint64_t next_key_ = 1;
  std::uint64_t time_ = 0;
};

}  // namespace

void read_heaptrack_file(NumberedLines& lines, ImportedBlocks& blocks) { HeaptrackFile(lines, blocks).read(); }

}  // namespace snug::tool
