#include "checked/call_stack.h"

#include "base/atomic.h"
#include "base/bits.h"
#include "base/fatal.h"
#include "base/text.h"
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

}  // namespace

uint32_t calling_thread() {
  if (thread_number == 0) thread_number = os::thread_number();
  return thread_number;
}

void forget_calling_thread() { thread_number = 0; }

uint32_t walk_frames(const void* innermost, uintptr_t* frames, size_t most) {
  uint32_t count = 0;
  walk(innermost, most, [&](uintptr_t call) { frames[count++] = call; });
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
