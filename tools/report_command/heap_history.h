// HeapHistory: what the blocks of a recording were over time: by the stack that allocated them, by size, by lifetime
// and by the threads that allocated and freed them; and at the moment at which most bytes lived.
//
// It is read in one pass, and holds a number for each block that lives, each stack, each size and each slice of time in
// which these had an event.
//
//   of each grouping: sum over all of live() == live(), sum of at_peak() == at_peak()
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "input/trace_input.h"
#include "record/block_table.h"
#include "report_command/block_sums.h"
#include "report_command/sliced_series.h"
#include "trace/sample_account.h"
#include "trace_command/call_stacks.h"

namespace snug::tool {

// What a block of `size` bytes takes on snug, in bytes: its class, or whole OS pages.
std::uint64_t bytes_on_snug(std::uint64_t size);
// The most bytes of a block that takes less; 0 if there is none.
std::uint64_t class_below(std::uint64_t size);

// A block is short-lived if its thread frees it within so many of its own calls. heaptrack counts only what the next
// call frees, and so not two temporaries at once.
inline constexpr std::uint64_t kDefaultTemporaryEvents = 8;
// A block that another thread frees sooner was handed over, and not kept.
inline constexpr std::uint64_t kQuickNanoseconds = 1'000'000;

// What a stack's blocks did in a slice; the slice of a block's end is that of its free.
struct StackSums {
  BlockSums allocated;
  BlockSums freed;
  BlockSums temporary;

  StackSums& operator+=(const StackSums& other) {
    allocated += other.allocated;
    freed += other.freed;
    temporary += other.temporary;
    return *this;
  }
};

// A block that grew: the bytes that it had before, which are copied unless it could stay where it was.
struct GrowthSums {
  std::uint64_t times = 0;
  std::uint64_t copied_bytes = 0;
  std::uint64_t most_bytes = 0;  // after growing

  GrowthSums& operator+=(const GrowthSums& other) {
    times += other.times;
    copied_bytes += other.copied_bytes;
    if (most_bytes < other.most_bytes) most_bytes = other.most_bytes;
    return *this;
  }
};

// Of a stack with blocks of more than one class.
inline constexpr std::uint64_t kSeveralClasses = ~std::uint64_t{0};

struct StackHistory {
  LiveSums live;
  StackSums all;
  std::uint64_t takes = 0;  // what each of its blocks takes on snug; 0: it had none yet
  GrowthSums growth;
  SlicedSeries<StackSums> series;
};

// Blocks of one size in a slice; the slice of a block's end is that of its free.
struct SizeSums {
  std::uint64_t allocated = 0;
  std::uint64_t freed = 0;
  std::uint64_t temporary = 0;

  SizeSums& operator+=(const SizeSums& other) {
    allocated += other.allocated;
    freed += other.freed;
    temporary += other.temporary;
    return *this;
  }
};

struct SizeHistory {
  LiveSums live;
  BlockSums allocated;
  BlockSums temporary;
  SlicedSeries<SizeSums> series;
};

struct HandOverSums {
  BlockSums freed;
  std::uint64_t quick = 0;  // blocks within kQuickNanoseconds

  HandOverSums& operator+=(const HandOverSums& other) {
    freed += other.freed;
    quick += other.quick;
    return *this;
  }
};

// Of the whole process, in a slice.
struct ProcessSums {
  BlockSums live;               // at its end
  std::uint64_t rounded = 0;    // the same blocks on snug
  std::uint64_t most_live = 0;  // bytes, within it
  BlockSums allocated;
  std::uint64_t freed_bytes = 0;

  // `later` is the slice behind this one.
  ProcessSums& operator+=(const ProcessSums& later) {
    if (most_live < later.most_live) most_live = later.most_live;
    live = later.live;
    rounded = later.rounded;
    allocated += later.allocated;
    freed_bytes += later.freed_bytes;
    return *this;
  }
};

// What the kernel and the allocator said at a moment; 0: not told.
struct MemorySample {
  std::uint64_t time = 0;  // in steps
  std::uint64_t resident = 0;
  std::uint64_t heap = 0;
  std::uint64_t in_use = 0;
};

// Bins of sizes and lifetimes: powers of two, from 1 byte and from 64 ns.
inline constexpr std::size_t kSizeBins = 40;
inline constexpr std::size_t kLifeBins = 40;

class HeapHistory {
 public:
  using Lifetimes =
      std::array<std::array<SlicedSeries<BlockSums>, kLifeBins + 1>, kSizeBins>;  // last: lives at the end
  using HandOvers = std::map<std::pair<std::uint32_t, std::uint32_t>, SlicedSeries<HandOverSums>>;  // allocator, freer

  // Reads the trace to its end.
  HeapHistory(TraceInput& input, std::uint64_t temporary_events);

  const CallStacks& stacks() const { return stacks_; }
  // By the trace's number of the stack; 0: unknown.
  const std::unordered_map<std::uint64_t, StackHistory>& by_stack() const { return by_stack_; }
  const std::unordered_map<std::uint64_t, SizeHistory>& by_size() const { return by_size_; }
  const Lifetimes& lifetimes() const { return lifetimes_; }
  const HandOvers& hand_overs() const { return hand_overs_; }
  const std::map<std::uint32_t, BlockSums>& allocated_by_thread() const { return by_thread_; }
  const std::vector<MemorySample>& samples() const { return samples_; }

  std::uint64_t most_resident() const { return sampled_.most_resident(); }  // by the kernel's count; 0: nobody looked

  const TimeSlices& slices() const { return slices_; }
  std::uint32_t last_slice() const { return slices_.slice_of(last_time_); }
  // Of each slice up to the last, also where nothing happened.
  std::vector<ProcessSums> process_by_slice() const;

  const LiveSums& live() const { return live_; }
  const BlockSums& allocated() const { return allocated_; }
  const BlockSums& temporary() const { return temporary_; }
  // Blocks that were there before the recording; they are in nothing that was allocated.
  const BlockSums& found() const { return found_; }
  const BlockSums& freed_by_others() const { return freed_by_others_; }
  const GrowthSums& growth() const { return growth_; }
  BlockSums at_peak() const { return live_.at_peak(peaks_); }
  std::uint64_t peaks() const { return peaks_; }  // for LiveSums::at_peak() of the rest
  std::uint64_t peak_time() const { return peak_time_; }
  std::uint64_t rounded_at_peak() const { return rounded_at_peak_; }
  std::size_t threads() const { return threads_.size(); }  // that have an event
  std::uint64_t last_time() const { return last_time_; }
  std::uint64_t events() const { return events_; }
  bool ends_early() const { return ends_early_; }  // at a moment that was asked for
  std::uint64_t refused() const { return refused_; }
  std::uint64_t lost() const { return lost_; }
  std::uint64_t impossible() const { return impossible_; }

 private:
  struct Block {
    StackHistory* stack;
    std::uint64_t stack_number;
    SizeHistory* sums_of_size;
    std::uint64_t size;
    std::uint64_t time;
    std::uint64_t thread_event;  // its number among those of its thread
    std::uint64_t steps = 0;     // by which it has grown so far, each time into a new block
    std::uint64_t copied = 0;    // bytes, in these
  };
  // The last blocks that a thread was given: where one of them has twice or one and a half times the size of a block
  // which the thread frees then, and its stack, that block may have grown. It has if it does so three times.
  struct ThreadTail {
    static constexpr std::size_t kKept = 4;
    struct Allocation {
      trace::BlockId block = trace::BlockId::kNone;
      std::uint64_t stack = 0;
      std::uint64_t size = 0;
    };
    std::uint64_t events = 0;
    std::array<Allocation, kKept> last = {};
  };

  void add(const trace::Event& event);
  void advance(std::uint64_t time);
  void come(const trace::Event& event, trace::BlockId block, bool is_found);
  Block* block_of(trace::BlockId id);
  void go(const trace::Event& event, bool stays_as_other);
  void note_growth(StackHistory& stack, const GrowthSums& growth);
  void look_for_growth(const Block& freed, ThreadTail& tail);
  void look_at_sample(const trace::Event& event);
  void end();

  std::uint64_t temporary_events_;
  bool ends_early_;
  CallStacks stacks_;
  // Of a block that lives, its place in live_blocks_, by its identity.
  BlockTable places_;
  std::vector<Block> live_blocks_;
  std::vector<std::uint32_t> free_places_;
  std::unordered_map<std::uint64_t, StackHistory> by_stack_;
  std::unordered_map<std::uint64_t, SizeHistory> by_size_;
  Lifetimes lifetimes_;
  HandOvers hand_overs_;
  std::map<std::uint32_t, BlockSums> by_thread_;
  std::unordered_map<std::uint32_t, ThreadTail> tails_;
  std::vector<MemorySample> samples_;
  MemorySample sample_;
  trace::SampleAccount sampled_;

  TimeSlices slices_;
  std::uint32_t slice_ = 0;  // of the event that is being added
  SlicedSeries<ProcessSums> process_;
  LiveSums live_;
  std::uint64_t rounded_ = 0;
  BlockSums allocated_;
  BlockSums temporary_;
  BlockSums found_;
  BlockSums freed_by_others_;
  GrowthSums growth_;
  std::uint64_t peaks_ = 0;
  std::uint64_t peak_bytes_ = 0;
  std::uint64_t peak_time_ = 0;
  std::uint64_t rounded_at_peak_ = 0;
  std::uint64_t last_time_ = 0;
  std::uint64_t events_ = 0;
  std::unordered_set<std::uint32_t> threads_;
  std::uint32_t last_thread_ = 0;
  std::uint64_t refused_ = 0;
  std::uint64_t lost_ = 0;
  std::uint64_t impossible_ = 0;
};

}  // namespace snug::tool
