#include "checked/call_stack.h"

#include "base/atomic.h"
#include "base/bits.h"
#include "base/fatal.h"
#include "base/text.h"
#include "os/frame_rule.h"
#include "os/loaded_module.h"
#include "os/memory.h"
#include "os/thread.h"

namespace snug {
namespace {

constexpr unsigned kPageBits = 12;         // no page of the OS is smaller
constexpr uintptr_t kFrameAlignment = 16;  // of a frame, by the calling convention

// Consecutive OS pages that the thread has found to be readable stack: the number of the first, and their count. One
// word, so that a signal handler neither finds nor leaves it half written.
class KnownPages {
 public:
  explicit KnownPages(uint64_t word) : word_(word) {}
  KnownPages(uintptr_t first, uint64_t count) : word_(uint64_t{first} << kCountBits | count) {}
  bool contains(uintptr_t page) const { return page - first() < count(); }
  bool ends_at(uintptr_t page) const { return page == first() + count() && count() + 1 < uint64_t{1} << kCountBits; }
  KnownPages longer() const { return KnownPages(word_ + 1); }
  uint64_t word() const { return word_; }

 private:
  static constexpr unsigned kCountBits = 28;
  uintptr_t first() const { return word_ >> kCountBits; }
  uint64_t count() const { return word_ & ((uint64_t{1} << kCountBits) - 1); }

  uint64_t word_;
};

SNUG_INITIAL_EXEC constinit thread_local Atomic<uint64_t> known_pages{0};
SNUG_INITIAL_EXEC constinit thread_local uint32_t thread_number = 0;

// A walk over the calling thread's stack, from one of its frames on.
class FrameWalk {
 public:
  explicit FrameWalk(uintptr_t frame) : known_(known_pages.load(kRelaxed)) {
    if (!known_.contains(frame >> kPageBits)) known_ = KnownPages(frame >> kPageBits, 1);
  }
  ~FrameWalk() { known_pages.store(known_.word(), kRelaxed); }

  // A frame's two words lie on one page.
  bool can_read(uintptr_t frame) {
    const uintptr_t page = frame >> kPageBits;
    if (known_.contains(page)) return true;
    if (!os::is_readable(at<void>(frame))) return false;
    if (known_.ends_at(page)) known_ = known_.longer();
    return true;
  }

 private:
  KnownPages known_;
};

// Calls visit(last byte of a call) for up to `most` frames, the innermost first.
template <class Visit>
SNUG_ALWAYS_INLINE void walk(const void* innermost, size_t most, Visit visit) {
  uintptr_t frame = address_of(innermost);
  FrameWalk walk(frame);
  for (size_t steps = 0; steps != most && is_aligned(frame, kFrameAlignment) && walk.can_read(frame); ++steps) {
    const auto* const words = at<const uintptr_t>(frame);
    if (words[1] == 0) return;
    visit(words[1] - 1);
    if (words[0] <= frame) return;  // callers' frames lie above
    frame = words[0];
  }
}

// The rules that have been asked for, by the call. Threads read and write without a lock: a slot's two words belong
// together if they are a call when taken together, and else it is asked anew. What was learned of code that has been
// unloaded since misleads a walk through other code in its place, which then ends or tells wrong calls, and reads only
// what it may.
class KnownRules {
 public:
  os::FrameRule rule_of(uintptr_t call) {
    Slot& slot = slots_[call * 0x9e3779b97f4a7c15 >> (64 - kBits)];
    const uint64_t known = slot.rule.load(kRelaxed);
    if (known != 0 && (slot.mixed.load(kRelaxed) ^ known) == call) return unpacked(known);
    const os::FrameRule rule = os::find_frame_rule(call);
    if (rule.end == os::FrameRule::End::kUnknown) return rule;
    slot.rule.store(packed(rule), kRelaxed);
    slot.mixed.store(call ^ packed(rule), kRelaxed);
    return rule;
  }

 private:
  static constexpr unsigned kBits = 11;
  static constexpr unsigned kOffsetBits = 31;
  struct Slot {
    Atomic<uint64_t> rule{0};
    Atomic<uint64_t> mixed{0};
  };

  // Offsets are multiples of 8, below 1 GiB.
  static uint64_t packed(const os::FrameRule& rule) {
    constexpr uint64_t kMask = (uint64_t{1} << kOffsetBits) - 1;
    return uint64_t{static_cast<uint8_t>(rule.end)} << (2 * kOffsetBits) |
           (static_cast<uint64_t>(rule.end_offset) & kMask) << kOffsetBits |
           (static_cast<uint64_t>(rule.saved_offset) & kMask);
  }
  static int32_t offset_at(uint64_t word, unsigned bit) {
    return static_cast<int32_t>(static_cast<uint32_t>(word >> bit) << 1) >> 1;
  }
  static os::FrameRule unpacked(uint64_t word) {
    return {static_cast<os::FrameRule::End>(word >> (2 * kOffsetBits)), offset_at(word, kOffsetBits),
            offset_at(word, 0)};
  }

  Slot slots_[size_t{1} << kBits];
};

constinit KnownRules known_rules;

// The registers of a caller, from which its own caller's are found.
struct Registers {
  uintptr_t call = 0;  // its last byte
  uintptr_t stack_pointer = 0;
  uintptr_t frame_pointer = 0;
};

// Goes on to the caller. False at the end, also that of what is known.
bool step_out(FrameWalk& walk, Registers& registers) {
  constexpr uintptr_t kWord = sizeof(uintptr_t);
  using End = os::FrameRule::End;
  const os::FrameRule rule = known_rules.rule_of(registers.call);
  if (rule.end == End::kOutermost || rule.end == End::kUnknown) return false;
  const uintptr_t base = rule.end == End::kFromStackPointer ? registers.stack_pointer : registers.frame_pointer;
  const uintptr_t end = base + static_cast<uintptr_t>(intptr_t{rule.end_offset});
  const uintptr_t saved = rule.saved_offset != 0 ? end + static_cast<uintptr_t>(intptr_t{rule.saved_offset}) : 0;
  // Callers' frames lie above. A JIT compiler's are aligned to words alone.
  if (end <= registers.stack_pointer || !is_aligned(end, kWord)) return false;
  if (!walk.can_read(end - kWord) || (saved != 0 && (!is_aligned(saved, kWord) || !walk.can_read(saved)))) return false;
  const uintptr_t after = *at<const uintptr_t>(end - kWord);
  if (after == 0) return false;
  registers.call = after - 1;
  registers.stack_pointer = end;
  if (saved != 0) registers.frame_pointer = *at<const uintptr_t>(saved);
  return true;
}

}  // namespace

uint32_t calling_thread() {
  if (thread_number == 0) thread_number = os::thread_number();
  return thread_number;
}

void forget_calling_thread() { thread_number = 0; }

uint32_t walk_stack(const void* innermost, uintptr_t* frames, size_t most) {
  const auto* const words = static_cast<const uintptr_t*>(innermost);
  FrameWalk walk(address_of(innermost));
  Registers registers{words[1] - 1, address_of(words + 2), words[0]};
  uint32_t count = 0;
  while (count != most) {
    frames[count++] = registers.call;
    if (!step_out(walk, registers)) break;
  }
  return count;
}

void CallStack::take(const void* innermost) {
  thread = calling_thread();
  count = 0;
  walk(innermost, kMost, [this](uintptr_t call) { add(call); });
}

void CallStack::add(uintptr_t frame) {
  frame = address(frame);  // a word that is no return address may be any number
  for (uint32_t i = 0; i != count; ++i) {
    if (address(frames[i]) != frame) continue;
    frames[i] += kAgain;
    return;
  }
  frames[count++] = frame;
}

void CallStack::write(const char* what) const {
  if (thread == 0) return;
  Text<128> head;
  head.add("snug: ").add(what).add(" thread ").add(uint64_t{thread});
  head.add(count == 0 ? ", at a place that was not kept: there are too many others\n" : ":\n");
  write_line(head.data(), head.size());
  for (uint32_t i = 0; i != count; ++i) {
    const uintptr_t address = CallStack::address(frames[i]);
    os::LoadedModule module;
    // A function without a frame pointer has left something else in the register, which leads to no code.
    if (!os::find_module(address, &module) && i != 0) return;
    Text<384> line;
    line.add("snug:   ").add(module.path);
    if (module.path[0] != 0) line.add("+");
    line.add_hex(module.path[0] != 0 ? module.address : address);
    if (const uint64_t there = times(frames[i]); there != 1) line.add(", ").add(there).add(" times");
    line.add("\n");
    write_line(line.data(), line.size());
  }
}

}  // namespace snug
