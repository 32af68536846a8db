#include "report_command/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "print/quantity.h"

namespace snug::tool {

namespace {

// What is less is no finding: of bytes a share of the peak or of all allocated, of blocks a share of all.
constexpr double kLeastShare = 0.05;
constexpr double kLeastRounding = 0.02;
constexpr std::uint64_t kLeastBytes = 64 << 10;
constexpr std::uint64_t kLeastBlocks = 1000;
constexpr std::uint32_t kLeastSlices = 20;  // of time, to speak of its tenths

std::string bytes(std::uint64_t value) { return value_text(static_cast<double>(value), kBytes); }
std::string count(std::uint64_t value) { return value_text(static_cast<double>(value), kCount); }
// Of blocks: to the byte as long as that can be read, as the page tells their sizes.
std::string size_text(std::uint64_t size) { return size < kLeastBytes ? count(size) + " B" : bytes(size); }
std::string percent(double share) {
  const bool is_near_an_end = share < 0.0995 || (share >= 0.995 && share < 1);
  return fmt::format("{:.{}f}%", share * 100, share > 0 && is_near_an_end ? 1 : 0);
}
double share_of(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

class Finder {
 public:
  Finder(const HeapHistory& history, const CallOwners& owners, bool has_stacks)
      : history_(history), owners_(owners), has_stacks_(has_stacks) {}

  std::vector<ReportFinding> find() {
    for (const OwnedSums& sums : owners_.sums()) {
      // Within a sentence the callers stand between commas.
      std::string of = has_stacks_ ? " of " + owners_.text_of(sums.node) : "";
      if (of.find(", called by ") != std::string::npos) of += ',';
      node_ = has_stacks_ ? std::optional(sums.node) : std::nullopt;
      look_at_left(sums, of);
      look_at_temporary(sums.all, of);
      look_at_growth(sums.growth, of);
      if (has_stacks_) look_at_peak(sums);
    }
    node_.reset();
    look_at_rounding();
    look_at_hand_overs();
    look_at_spike();
    std::ranges::sort(findings_, [](const ReportFinding& a, const ReportFinding& b) {
      return std::tie(b.weight, a.sentence) < std::tie(a.weight, b.sentence);
    });
    keep_the_best();
    return std::move(findings_);
  }

 private:
  void put(ReportFinding finding) {
    finding.node = node_;
    findings_.push_back(std::move(finding));
  }

  void look_at_left(const OwnedSums& sums, const std::string& of) {
    const double share = share_of(sums.leaked.bytes, history_.at_peak().bytes);
    const std::uint64_t half = std::min(sums.live_at_half.bytes, sums.leaked.bytes);
    // A server that slows down leaks less and less: what still comes in the last quarter goes on coming.
    const double late = 1 - share_of(std::min(sums.live_late.bytes, sums.leaked.bytes), sums.leaked.bytes);
    const bool grows = late >= kLeastShare;
    // What grows has no bound: its share of the peak tells no more than how long the recording ran.
    const double told_share = grows ? share_of(sums.leaked.bytes, history_.live().live().bytes) : share;
    if (told_share < kLeastShare || sums.leaked.bytes < kLeastBytes) return;
    // Of what the runtime took before the recorder was ready nothing can be done.
    if (!grows && has_stacks_ && owners_.name_of(sums.node) == kUnknownStack) return;
    ReportFinding finding{.kind = grows ? "leak" : "held", .sentence = {}, .advice = {}};
    finding.sentence =
        fmt::format("{} in {}{} {}: {} of the peak.", bytes(sums.leaked.bytes), blocks_text(sums.leaked.blocks), of,
                    history_.ends_early() ? "live at that moment" : "are never freed", percent(share));
    if (grows) {
      finding.sentence += fmt::format(" At half of the time they were {}.", bytes(half));
      finding.advice =
          "It grows to the end. If nobody needs these blocks any more, free them where their owner goes; if they are a "
          "cache, bound it.";
    } else {
      finding.advice =
          "Nearly all of it was there before the last quarter of the time: tables and caches that live as long as the "
          "program look so. Look whether it has to be so large.";
    }
    finding.bytes = sums.leaked.bytes;
    finding.share = share;
    // A small leak is a large one a day later.
    finding.weight = grows ? std::sqrt(share) : share * 0.4;
    put(std::move(finding));
  }

  void look_at_temporary(const StackSums& sums, const std::string& of) {
    const double share = share_of(sums.temporary.blocks, history_.allocated().blocks);
    if (share < kLeastShare || sums.temporary.blocks < kLeastBlocks) return;
    put({.kind = "temporary",
         .sentence = fmt::format("{} blocks{} are freed within a few calls after they came: {} of all allocations, {} "
                                 "each in the mean.",
                                 count(sums.temporary.blocks), of, percent(share),
                                 size_text(sums.temporary.bytes / sums.temporary.blocks)),
         .advice = "Keep one buffer and use it again, build in place, or take small ones from the stack: the call and "
                   "its cache misses go, whatever the allocator.",
         .bytes = sums.temporary.bytes,
         .share = share,
         .weight = share});
  }

  void look_at_growth(const GrowthSums& growth, const std::string& of) {
    const double share = share_of(growth.copied_bytes, history_.allocated().bytes);
    if (share < kLeastShare || growth.copied_bytes < kLeastBytes) return;
    put({.kind = "growth",
         .sentence = fmt::format(
             "Blocks{} grow {} times, to {} at most, and up to {} is copied on the way: {} of all bytes "
             "allocated.",
             of, count(growth.times), size_text(growth.most_bytes), bytes(growth.copied_bytes), percent(share)),
         .advice = "Reserve what is needed at once (reserve(), a first guess of the size), or grow by a factor: each "
                   "step has the old and the new block in memory.",
         .bytes = growth.copied_bytes,
         .share = share,
         .weight = share});
  }

  void look_at_peak(const OwnedSums& sums) {
    const double share = share_of(sums.at_peak.bytes, history_.at_peak().bytes);
    if (share < 0.25 || sums.at_peak.bytes < kLeastBytes) return;
    put({.kind = "peak",
         .sentence = fmt::format("{} of the peak, {} in {}, is of {}.", percent(share), bytes(sums.at_peak.bytes),
                                 blocks_text(sums.at_peak.blocks), owners_.text_of(sums.node)),
         .advice = "This is where less memory begins: fewer or smaller blocks here lower the peak by as much.",
         .bytes = sums.at_peak.bytes,
         .share = share,
         .weight = share * 0.1});
  }

  // What the blocks of a class waste at the peak, of those that do not fill it.
  struct ClassWaste {
    std::uint64_t takes = 0;
    std::uint64_t waste = 0;
    BlockSums at_peak;
    std::uint64_t least_size = 0;
    std::uint64_t most_size = 0;
    std::uint64_t worst_size = 0;  // by which most is wasted
    std::uint64_t waste_of_worst = 0;
  };

  ClassWaste worst_class() const {
    std::map<std::uint64_t, ClassWaste> classes;
    for (const auto& [size, sums] : history_.by_size()) {
      const BlockSums at_peak = sums.live.at_peak(history_.peaks());
      const std::uint64_t takes = bytes_on_snug(size);
      const std::uint64_t waste = at_peak.blocks * (takes - size);
      if (waste == 0) continue;
      ClassWaste& of_class = classes[takes];
      of_class.takes = takes;
      const bool is_first = of_class.at_peak.blocks == 0;
      of_class.waste += waste;
      of_class.at_peak += at_peak;
      of_class.least_size = is_first ? size : std::min(of_class.least_size, size);
      of_class.most_size = std::max(of_class.most_size, size);
      if (std::pair(waste, size) < std::pair(of_class.waste_of_worst, of_class.worst_size)) continue;
      of_class.worst_size = size;
      of_class.waste_of_worst = waste;
    }
    ClassWaste worst;
    for (const auto& [takes, of_class] : classes)
      if (of_class.waste >= worst.waste) worst = of_class;
    return worst;
  }

  // The function with blocks that waste more than half of what the class wastes; null if there is none, or it is not
  // known.
  const OwnedSums* owner_of_most(const ClassWaste& of_class) const {
    for (const OwnedSums& sums : owners_.sums()) {
      const auto found = sums.of_one_class.find(of_class.takes);
      if (found == sums.of_one_class.end()) continue;
      if (found->second.blocks * of_class.takes - found->second.bytes > of_class.waste / 2) return &sums;
    }
    return nullptr;
  }

  void look_at_rounding() {
    const ClassWaste worst = worst_class();
    const double share = share_of(worst.waste, history_.rounded_at_peak());
    if (share < kLeastRounding || worst.waste < kLeastBytes) return;
    const std::string sizes = worst.least_size == worst.most_size
                                  ? count(worst.worst_size)
                                  : fmt::format("{} to {}", count(worst.least_size), count(worst.most_size));
    std::string sentence =
        fmt::format("{} of what is live at the peak lies in blocks of {} bytes that take {} on snug: {} is rounding.",
                    percent(share_of(worst.at_peak.bytes, history_.at_peak().bytes)), sizes, count(worst.takes),
                    bytes(worst.waste));
    const OwnedSums* const owner = has_stacks_ ? owner_of_most(worst) : nullptr;
    if (owner != nullptr) {
      node_ = owner->node;
      sentence += fmt::format(" Most of that is of {}.", owners_.text_of(owner->node));
    }
    put({.kind = "rounding",
         .sentence = std::move(sentence),
         .advice = advice_on(worst),
         .bytes = worst.waste,
         .share = share,
         .weight = share * 3,
         .size = worst.worst_size});
    node_.reset();
  }

  static std::string advice_on(const ClassWaste& of_class) {
    const std::uint64_t below = class_below(of_class.worst_size);
    // What is smaller than the smallest class has no class below.
    if (below == 0)
      return "The smallest class has no smaller: put several of these into one block, or into what points to them.";
    return fmt::format(
        "A structure of at most {} bytes falls into the class below; or a map of size classes that is made "
        "for this program: `snug classes fit` on this recording.",
        count(below));
  }

  void look_at_hand_overs() {
    for (const auto& [pair, series] : history_.hand_overs()) {
      if (pair.first == pair.second || pair.first == 0) continue;
      HandOverSums sums;
      for (const auto& [slice, of_slice] : series.entries()) sums += of_slice;
      const double share = share_of(sums.freed.blocks, history_.allocated().blocks);
      if (share < kLeastShare || sums.freed.blocks < kLeastBlocks) continue;
      put({.kind = "handover",
           .sentence =
               fmt::format("{} blocks that thread {} allocates are freed by thread {}, {} of them within 1 ms: {} "
                           "of all allocations.",
                           count(sums.freed.blocks), pair.first, pair.second,
                           percent(share_of(sums.quick, sums.freed.blocks)), percent(share)),
           .advice = "Hand over fewer and larger blocks, or give buffers back to the thread that fills them: an "
                     "allocator has to bring "
                     "each of these home to the thread that it came from.",
           .bytes = sums.freed.bytes,
           .share = share,
           .weight = share * 0.6,
           .threads = pair});
    }
  }

  // A peak that is seldom: in nine tenths of the time no more than half of it lives.
  void look_at_spike() {
    std::vector<std::uint64_t> most_live;
    for (const ProcessSums& sums : history_.process_by_slice()) most_live.push_back(sums.most_live);
    const auto ninth = most_live.begin() + static_cast<std::ptrdiff_t>(most_live.size() * 9 / 10);
    std::ranges::nth_element(most_live, ninth);
    const std::uint64_t usual = *ninth;
    const std::uint64_t peak = history_.at_peak().bytes;
    if (most_live.size() <= kLeastSlices || usual > peak / 2 || peak < kLeastBytes) return;
    const double share = 1 - share_of(usual, peak);
    put({.kind = "spike",
         .sentence = fmt::format("The peak of {} is short: in 90% of the time no more than {} live.", bytes(peak),
                                 bytes(usual)),
         .advice = "A machine or container has to be as large as this moment. See in the flame graph at the peak what "
                   "comes together there, and whether it can come one after the other.",
         .bytes = peak - usual,
         .share = share,
         .weight = share * 0.7});
  }

  // One finding of a function tells of it, the weightiest, and what holds the peak only says so if nothing worse is
  // known. No kind is crowded out by another's second: of each the weightiest comes in first.
  void keep_the_best() {
    std::vector<ReportFinding> told;
    for (ReportFinding& finding : findings_) {
      const bool is_told = std::ranges::any_of(told, [&finding](const ReportFinding& other) {
        return finding.node && other.node == finding.node && (finding.kind == "peak" || finding.kind == other.kind);
      });
      if (!is_told) told.push_back(std::move(finding));
    }
    std::set<std::string> kinds;
    std::vector<bool> stays;
    for (const ReportFinding& finding : told)
      stays.push_back(kinds.size() != kMostFindings && kinds.insert(finding.kind).second);
    std::size_t left = kMostFindings - kinds.size();
    findings_.clear();
    for (std::size_t i = 0; i != told.size(); ++i) {
      const bool is_second = !stays[i] && left != 0;
      if (is_second) --left;
      if (stays[i] || is_second) findings_.push_back(std::move(told[i]));
    }
  }

  const HeapHistory& history_;
  const CallOwners& owners_;
  const bool has_stacks_;
  std::optional<int> node_;
  std::vector<ReportFinding> findings_;
};

}  // namespace

std::vector<ReportFinding> find(const HeapHistory& history, const CallOwners& owners, bool has_stacks) {
  return Finder(history, owners, has_stacks).find();
}

}  // namespace snug::tool
