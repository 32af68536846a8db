#include "allocator/address_description.h"

#include <errno.h>
#include <stdint.h>

#include "allocator/allocator.h"
#include "base/algorithm.h"
#include "base/bits.h"
#include "base/text.h"
#include "os/clock.h"
#include "slab/block_view.h"

namespace snug {
namespace {

using State = BlockView::State;

// Threads of a heap that are named.
constexpr size_t kMostThreads = 16;

// The object's members, one after the other; the first is put by open().
class AnswerObject {
 public:
  explicit AnswerObject(os::OutputStream& out) : out_(out) {}

  void open(uintptr_t address) {
    out_.put("{\"schema\":\"snug.address/1\"");
    hex("address", address);
  }
  void close() { out_.put("}\n"); }

  // A name that the program chose has quotes escaped, and what is no printable ASCII replaced.
  void text(const char* name, const char* value) {
    Text<192> quoted;
    quoted.put('"');
    for (const char* c = value; *c != 0; ++c) {
      if (*c == '"' || *c == '\\') quoted.put('\\');
      quoted.put(*c >= ' ' && *c <= '~' ? *c : '?');
    }
    put(quoted.put('"'), name);
  }
  void number(const char* name, uint64_t value) { put(Text<192>().add(value), name); }
  void hex(const char* name, uint64_t value) { put(Text<192>().add("\"").add_hex(value).add("\""), name); }
  // An array of numbers, or of addresses as texts.
  template <class T>
  void numbers(const char* name, const T* values, size_t count) {
    begin(name, "[");
    for (size_t i = 0; i != count; ++i) out_.put(Text<32>().add(i == 0 ? "" : ",").add(uint64_t{values[i]}).data());
    out_.put("]");
  }
  void addresses(const char* name, const uintptr_t* values, size_t count) {
    begin(name, "[");
    for (size_t i = 0; i != count; ++i)
      out_.put(Text<32>().add(i == 0 ? "\"" : ",\"").add_hex(values[i]).add("\"").data());
    out_.put("]");
  }

 private:
  void begin(const char* name, const char* opening) {
    out_.put(Text<64>().add(",\"").add(name).add("\":").add(opening).data());
  }
  void put(const Text<192>& value, const char* name) {
    begin(name, "");
    out_.put(value.data());
  }

  os::OutputStream& out_;
};

const char* word_for(State state) {
  switch (state) {
    case State::kNoBlock:
      return "no_block";
    case State::kNeverUsed:
      return "never_used";
    case State::kFree:
      return "free";
    case State::kOnItsWay:
      return "on_its_way";
    case State::kOut:
      return "live";
  }
  return "";
}

// The threads of one heap, and in which thread's cache a block of it is, if in any.
struct HeapThreads {
  uint32_t numbers[kMostThreads];
  size_t count = 0;
  bool is_cached = false;
  uint32_t cached_by = 0;
};

bool is_in(const Pair<uintptr_t, uintptr_t>& range, uintptr_t address) {
  return address >= range.first && address < range.second;
}

class Description {
 public:
  Description(Allocator& allocator, Life life, os::OutputStream& out)
      : allocator_(allocator), life_(life), object_(out) {}

  void put(uintptr_t address) {
    object_.open(address);
    put_what_lies_at(address);
    object_.close();
  }

 private:
  HeapThreads look_at_caches(const BlockView& view) {
    if (life_ == Life::kEnded) return walk_caches(view);
    const LockGuard hands(allocator_.background.hands());
    allocator_.caches.reap_orphans();
    return walk_caches(view);
  }

  HeapThreads walk_caches(const BlockView& view) {
    HeapThreads threads;
    allocator_.revocation.for_each_cache([&](const ThreadCache& cache) {
      cache.heap().lock().assume_held();
      // Threads are numbered once a tool may ask.
      if (cache.heap().id() == view.heap && cache.thread_number() != 0 && threads.count != kMostThreads)
        threads.numbers[threads.count++] = cache.thread_number();
      if (view.state != State::kOut || threads.is_cached || !cache.holds(view.size_class, at<void>(view.start))) return;
      threads.is_cached = true;
      threads.cached_by = cache.thread_number();
    });
    return threads;
  }

  void put_block(const char* of, const char* state, uintptr_t start, size_t bytes) {
    object_.text("what", "block");
    object_.text("of", of);
    object_.text("state", state);
    object_.hex("start", start);
    object_.number("size", bytes);
  }

  void put_slab(const char* in, const BlockView& view) {
    object_.text("in", in);
    object_.hex("slab", view.slab);
    object_.number("slab_bytes", view.slab_bytes);
    object_.number("slab_blocks", view.blocks);
    object_.number("slab_used", view.used);
    object_.number("class", view.size_class);
  }

  // A place in a slab; `state` is the block's.
  void put_place(const char* of, const char* in, const BlockView& view, const char* state) {
    if (view.state == State::kNoBlock) {
      object_.text("what", "rest");
      object_.text("of", of);
    } else {
      put_block(of, state, view.start, view.block_bytes);
    }
    put_slab(in, view);
  }

  void put_sample(uintptr_t block) {
    Sample sample;
    SampledStack stack;
    if (!allocator_.profile.has_been_on() || !allocator_.profile.view_sample(at<void>(block), &sample, &stack)) return;
    object_.number("requested", sample.size);
    object_.number("allocated_by", sample.thread);
    if (life_ == Life::kRunning) object_.number("age_ms", os::milliseconds() - sample.milliseconds);
    object_.addresses("stack", stack.frames, stack.count);
  }

  bool put_of_thread_heaps(const void* address) {
    BlockView view;
    if (!allocator_.registry.view_block(address, view)) return false;
    const HeapThreads threads = look_at_caches(view);
    const char* state = word_for(view.state);
    if (threads.is_cached) {
      state = "cached";
    } else if (view.state == State::kOut) {
      // It may have come home while the caches were looked through.
      BlockView again;
      if (allocator_.registry.view_block(address, again) && again.start == view.start) view = again;
      state = word_for(view.state);
      if (view.state == State::kOut && allocator_.is_checked() && allocator_.quarantine.holds(at<void>(view.start)))
        state = "quarantined";
    }
    put_place("malloc", "slab", view, state);
    object_.number("heap", view.heap);
    object_.text("heap_of", allocator_.registry.is_shared(view.heap) ? "all" : "threads");
    object_.numbers("threads", threads.numbers, threads.count);
    if (threads.cached_by != 0) object_.number("cached_by", threads.cached_by);
    return true;
  }

  bool put_of_user_heaps(const void* address) {
    UserBlockView view;
    if (!allocator_.user_heaps.view_block(address, view)) return false;
    const bool is_large = view.block.slab == 0;
    if (is_large)
      put_block("heap", "live", view.block.start, view.block.block_bytes);
    else
      put_place("heap", "slab", view.block, view.is_cached ? "cached" : word_for(view.block.state));
    if (is_large) object_.text("in", "large");
    object_.text("heap_name", view.name);
    return true;
  }

  bool put_of_samples(const void* address) {
    BlockView view;
    if (!allocator_.profile.has_been_on() || !allocator_.profile.view_block(address, view)) return false;
    put_place("malloc", "page_for_samples", view, word_for(view.state));
    if (view.state == State::kOut) put_sample(view.start);
    return true;
  }

  void put_large(const char* in, uintptr_t start, size_t bytes) {
    const bool rests = allocator_.is_checked() && allocator_.quarantine.holds(at<void>(start));
    put_block("malloc", rests ? "quarantined" : "live", start, bytes);
    object_.text("in", in);
    put_sample(start);
  }

  void put_free(const char* state) {
    object_.text("what", "free_memory");
    object_.text("state", state);
  }

  bool is_of_records(uintptr_t address) {
    bool is_one =
        is_in(allocator_.mappings.index_range(), address) || is_in(allocator_.registry.heap_table_range(), address);
    const auto look = [&](uintptr_t from, uintptr_t to) { is_one = is_one || is_in({from, to}, address); };
    allocator_.arena.for_each_mapping(look);
    allocator_.page_map.for_each_array(look);
    return is_one;
  }

  // A page of a chunk that no slab covers, of whatever heap.
  bool put_of_pages(const void* address) {
    const PageId page = allocator_.page_map.page_of(address);
    PageUse uses[kPagesPerChunk];
    if (!allocator_.spans.read_uses(page.start_of_chunk(), uses)) return false;
    PageCount length;
    if (void* const run = allocator_.spans.run_around(address, &length); run != nullptr) {
      put_large("pages", address_of(run), length.bytes());
      return true;
    }
    const PageUse use = uses[page.in_chunk()];
    if (use == PageUse::kRecords) {
      object_.text("what", "records");
    } else if (use == PageUse::kOther) {
      object_.text("what", "other_heap");
    } else {
      put_free(allocator_.spans.is_dirty(page) ? "kept" : "given_back");
    }
    return true;
  }

  bool put_of_mappings(uintptr_t address) {
    return !allocator_.mappings.for_each_extent([&](const LargeExtent& one) {
      if (address < one.start || address - one.start >= one.writable) return true;
      if (address - one.start < one.usable)
        put_large("mapping", one.start, one.usable);
      else
        put_free("kept");
      return false;
    });
  }

  bool put_of_guarded_pages(const void* address) {
    if (!allocator_.guarded.contains(address)) return false;
    const GuardedPages::View view = allocator_.guarded.view(address);
    if (view.block == 0 || address_of(address) - view.block >= view.size) {
      object_.text("what", "guard");
      return true;
    }
    put_block("malloc", view.is_live ? "live" : "free", view.block, view.size);
    object_.text("in", "guarded_page");
    object_.number("allocated_by", view.allocated.thread);
    // Of an ended process the records may say anything.
    const size_t count = min<size_t>(view.allocated.count, CallStack::kMost);
    uintptr_t frames[CallStack::kMost];
    for (size_t i = 0; i != count; ++i) frames[i] = CallStack::address(view.allocated.frames[i]);
    object_.addresses("stack", frames, count);
    return true;
  }

  void put_what_lies_at(uintptr_t number) {
    const void* const address = at<void>(number);
    if (allocator_.page_map.contains(address) && (put_of_thread_heaps(address) || put_of_samples(address) ||
                                                  put_of_user_heaps(address) || put_of_pages(address)))
      return;
    if (put_of_guarded_pages(address) || put_of_user_heaps(address) || put_of_mappings(number)) return;
    object_.text("what", is_of_records(number) ? "records" : "none");
  }

  Allocator& allocator_;
  const Life life_;
  AnswerObject object_;
};

// False if it is anything but 0x and hexadecimal digits of 64 bits.
bool parse_address(const char* words, uintptr_t* address) {
  constexpr size_t kMostDigits = 2 * sizeof(uintptr_t);
  if (words[0] != '0' || words[1] != 'x') return false;
  size_t digits = 0;
  for (words += 2; *words != 0; ++words, ++digits) {
    const char c = *words;
    const unsigned digit = c >= '0' && c <= '9'   ? static_cast<unsigned>(c - '0')
                           : c >= 'a' && c <= 'f' ? static_cast<unsigned>(c - 'a' + 10)
                                                  : 16;
    if (digit == 16 || digits == kMostDigits) return false;
    *address = *address << 4 | digit;
  }
  return digits != 0;
}

}  // namespace

int describe_address(Allocator& allocator, Life life, const char* words, os::OutputStream& out) {
  uintptr_t address = 0;
  if (!parse_address(words, &address)) return EINVAL;
  Description(allocator, life, out).put(address);
  return 0;
}

}  // namespace snug
