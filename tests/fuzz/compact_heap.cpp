// Any bytes are a program of operations on a compacting heap: the first two choose its options, each four after them
// are a step. Beside it runs what the program knows: what each block holds, where pins and readers keep it, and what
// each has to find there after every step.
#include <sched.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <vector>

#include "snug/compact_heap_c.h"

namespace {

struct Block {
  snug_handle handle = 0;
  size_t bytes = 0;
  uint8_t content = 0;
  unsigned pins = 0;
  void* pinned_at = nullptr;
  bool is_kind = false;
};

// Keeps the thread on one of the first two cores that it may run on, so that a program does the same each time. Where
// there is but one, all stays there. Afterwards it runs where it may again.
class FirstCores {
 public:
  FirstCores() { ::sched_getaffinity(0, sizeof before_, &before_); }
  ~FirstCores() { ::sched_setaffinity(0, sizeof before_, &before_); }
  FirstCores(const FirstCores&) = delete;
  FirstCores& operator=(const FirstCores&) = delete;

  void run_on(size_t core) {
    cpu_set_t one;
    CPU_ZERO(&one);
    for (size_t each = 0, left = core % 2 + 1; each != CPU_SETSIZE && left != 0; ++each) {
      if (!CPU_ISSET(each, &before_)) continue;
      CPU_ZERO(&one);
      CPU_SET(each, &one);
      --left;
    }
    ::sched_setaffinity(0, sizeof one, &one);
  }

 private:
  cpu_set_t before_{};
};

void move_bytes(void* from, void* to) { std::memcpy(to, from, 96); }

class Program {
 public:
  Program(uint8_t first, uint8_t second) {
    snug_compact_options options{};
    options.sharing = static_cast<snug_compact_sharing>(first % 3);
    options.map = static_cast<snug_compact_map>(first / 3 % 3);
    constexpr size_t kBounds[] = {1, 2, 5, SNUG_COMPACT_NEVER};
    options.not_full = kBounds[first / 9 % 4];
    constexpr size_t kIncrements[] = {1, 100, 4096, 65536};
    options.increment = kIncrements[second % 4];
    if (second / 4 % 2 == 1) {
      constexpr size_t kPages[] = {32, 8, 10, 16};
      region_.resize(kPages[second / 8 % 4] << 14, static_cast<char>(second));  // whatever is in it
      options.region = region_.data();
      options.region_bytes = region_.size();
    } else if (first / 36 % 2 == 1) {
      options.sharing = SNUG_COMPACT_CORES;
      cores_.emplace().run_on(0);
    }
    constexpr size_t kHandles[] = {0, 30, 100};
    options.handles = kHandles[second / 32 % 3];
    is_shared_ = options.sharing != SNUG_COMPACT_ONE_THREAD;
    heap_ = snug_compact_create(&options);
    require(heap_ != nullptr, "the heap was made");
    if (is_shared_)
      for (Reader& reader : readers_) {
        reader.reader = snug_compact_reader_create(heap_);
        require(reader.reader != nullptr, "there is room for a reader");
      }
  }
  ~Program() {
    for (Reader& reader : readers_) {
      if (reader.is_inside) snug_compact_leave(heap_, reader.reader);
      snug_compact_reader_destroy(heap_, reader.reader);
    }
    for (const Block& block : blocks_) {
      for (unsigned pin = 0; pin < block.pins; ++pin) snug_compact_unpin(heap_, block.handle);
      expect_content(block, snug_compact_deref(heap_, block.handle));
      snug_compact_free(heap_, block.handle);
    }
    snug_compact_step(heap_, nullptr);
    is_bound_ = true;
    expect_sound();
    snug_compact_stats stats;
    snug_compact_get_stats(heap_, &stats);
    require(stats.blocks == 0 && stats.pages == 0 && stats.pins == 0, "nothing is left");
    for (const snug_handle handle : dead_) require(snug_compact_try_deref(heap_, handle) == nullptr, "dead is dead");
    snug_compact_destroy(heap_);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  void step(uint8_t operation, uint8_t which, uint16_t amount) {
    Block* const block = blocks_.empty() ? nullptr : &blocks_[which % blocks_.size()];
    // What readers keep from moving is made up for later.
    if (is_read()) is_bound_ = false;
    switch (operation % 17) {
      case 0:
      case 1:
      case 2:
        allocate(which, amount);
        break;
      case 3:
      case 4:
        if (block != nullptr && block->pins == 0) free(*block);
        break;
      case 5:
        if (block != nullptr) resize(*block, 1 + (amount % 16 == 3 ? amount : amount % 900), 0);
        break;
      case 6:
        if (block != nullptr) which % 2 == 0 ? pin(*block) : unpin(*block);
        break;
      case 7: {
        const snug_compact_budget budget{0, amount};
        snug_compact_step(heap_, &budget);
        break;
      }
      case 8:
        section(readers_[which % kReaders], which / kReaders);
        break;
      case 9:
        if (amount % 2 == 0)
          snug_compact_set_not_full(heap_, 1 + amount / 2 % 5);
        else
          snug_compact_set_not_full_of(heap_, amount, 1 + which % 5);
        break;
      case 10:
        snug_compact_set_increment(heap_, 1 + amount % 5000);
        break;
      case 11:
        snug_compact_settle(heap_);
        break;
      case 12:
        snug_compact_give_back(heap_, which);
        break;
      case 13:
        compact();
        break;
      case 14:
        if (block != nullptr) resize(*block, 1 + amount % 900, size_t{1} << which % 13);
        break;
      case 15:
        if (cores_) cores_->run_on(which);
        break;
      default:
        thin_out(which, amount);
    }
    expect_sound();
    for (const Reader& reader : readers_)
      for (const auto& [handle, seen] : reader.seen) {
        // A look-up would call its move off, which must not be needed.
        require(place_of(handle) == seen.at, "what a reader has seen stays");
        expect_content(seen.block, seen.at);
      }
    for (const Block& pinned : blocks_)
      if (pinned.pins != 0) expect_content(pinned, pinned.pinned_at);
  }

 private:
  static constexpr size_t kReaders = 2, kMostBlocks = 400;
  struct Seen {
    Block block;
    void* at = nullptr;
  };
  struct Reader {
    snug_compact_reader* reader = nullptr;
    bool is_inside = false;
    std::map<snug_handle, Seen> seen;
  };

  static void require(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "does not hold: %s\n", what);
    std::abort();
  }
  void expect_sound() {
    if (const char* broken = snug_compact_check(heap_); broken != nullptr) require(false, broken);
    snug_compact_stats stats;
    snug_compact_get_stats(heap_, &stats);
    require(!is_bound_ || stats.bytes_not_full <= stats.bytes_bound, "the bound is kept");
  }
  bool is_read() const {
    return std::ranges::any_of(readers_, [](const Reader& reader) { return reader.is_inside; });
  }
  static void expect_content(const Block& block, const void* at) {
    const auto* const bytes = static_cast<const uint8_t*>(at);
    for (size_t i = 0; i < block.bytes; i += 1 + block.bytes / 8)
      require(bytes[i] == block.content, "contents are kept");
    require(bytes[block.bytes - 1] == block.content, "contents are kept to the end");
  }
  // Where the handle leads, whether the block is at rest or not.
  void* place_of(snug_handle handle) const {
    snug_compact_view view;
    snug_compact_get_view(heap_, &view);
    return reinterpret_cast<void*>((view.slots[static_cast<uint32_t>(handle)] ^ handle) & ((uint64_t{1} << 48) - 1));
  }
  void forget(snug_handle handle) {
    for (Reader& reader : readers_) reader.seen.erase(handle);
  }

  void allocate(uint8_t which, uint16_t amount) {
    if (blocks_.size() == kMostBlocks) return;
    Block block;
    block.is_kind = which % 8 == 7;
    block.bytes = block.is_kind ? 96 : 1 + (which % 16 == 3 ? amount : amount % 700);
    const size_t alignment = which % 8 == 5 ? size_t{1} << amount % 15 : 0;
    block.handle = block.is_kind ? snug_compact_alloc_relocated(heap_, 96, 0, move_bytes)
                                 : snug_compact_alloc(heap_, block.bytes, alignment);
    if (block.handle == 0) return;
    block.content = static_cast<uint8_t>(++number_);
    auto* const address = static_cast<char*>(snug_compact_deref(heap_, block.handle));
    require(alignment == 0 || reinterpret_cast<uintptr_t>(address) % alignment == 0, "it is aligned");
    require(snug_compact_usable_size(heap_, block.handle) >= block.bytes, "it is long enough");
    std::memset(address, block.content, block.bytes);
    blocks_.push_back(block);
  }
  void free(Block& block) {
    expect_content(block, place_of(block.handle));  // a look-up would call its move off
    forget(block.handle);
    snug_compact_free(heap_, block.handle);
    require(snug_compact_try_deref(heap_, block.handle) == nullptr, "what is freed is gone");
    dead_.push_back(block.handle);
    block = blocks_.back();
    blocks_.pop_back();
  }
  void resize(Block& block, size_t bytes, size_t alignment) {
    void* const before = place_of(block.handle);
    if (snug_compact_resize(heap_, block.handle, bytes, alignment) != 0) {
      require(place_of(block.handle) == before, "what could not be resized is as it was");
      return;
    }
    forget(block.handle);
    if (bytes < block.bytes) block.bytes = bytes;
    void* const after = place_of(block.handle);
    require(alignment == 0 || reinterpret_cast<uintptr_t>(after) % alignment == 0, "it is aligned anew");
    expect_content(block, after);
  }
  // All that is left to do, if no reader is in the way: then the bound is kept again.
  void compact() {
    const int is_left = snug_compact_step(heap_, nullptr);
    require(is_read() || is_left == 0, "nothing but readers keeps a step from its end");
    if (is_left == 0) is_bound_ = true;
  }
  // One block in so many goes.
  void thin_out(uint8_t which, uint16_t amount) {
    const size_t step = 2 + which % 3;
    for (size_t i = amount % step; i < blocks_.size(); i += step)
      if (blocks_[i].pins == 0) free(blocks_[i]);
  }
  void pin(Block& block) {
    void* const address = snug_compact_pin(heap_, block.handle);
    require((address == nullptr) == (block.pins == 15), "fifteen pins");
    if (address == nullptr) return;
    require(block.pins == 0 || block.pinned_at == address, "a pinned block stays");
    block.pinned_at = address;
    ++block.pins;
  }
  void unpin(Block& block) {
    if (block.pins == 0) return;
    --block.pins;
    snug_compact_unpin(heap_, block.handle);
  }
  // Goes in, looks at blocks from one on, or goes out.
  void section(Reader& reader, size_t from) {
    if (!is_shared_) return;
    if (!reader.is_inside) {
      snug_compact_enter(heap_, reader.reader);
      reader.is_inside = true;
    } else if (from % 4 == 0) {
      for (const auto& [handle, seen] : reader.seen)
        require(snug_compact_deref(heap_, handle) == seen.at, "what a reader has seen is where its handle leads");
      snug_compact_leave(heap_, reader.reader);
      reader.is_inside = false;
      reader.seen.clear();
    } else {
      for (size_t i = 0; i < blocks_.size() && i < 8 * from; ++i) {
        const Block& block = blocks_[(from + i) % blocks_.size()];
        reader.seen[block.handle] = {block, snug_compact_deref(heap_, block.handle)};
      }
    }
  }

  snug_compact_heap* heap_ = nullptr;
  std::vector<char> region_;
  std::optional<FirstCores> cores_;  // of heaps of cores
  bool is_shared_ = false;
  bool is_bound_ = true;  // no reader has kept blocks from moving
  Reader readers_[kReaders];
  std::vector<Block> blocks_;
  std::vector<snug_handle> dead_;
  unsigned number_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
  if (count < 2) return 0;
  Program program(bytes[0], bytes[1]);
  for (size_t at = 2, steps = 0; at + 4 <= count && steps < 400; at += 4, ++steps)
    program.step(bytes[at], bytes[at + 1], static_cast<uint16_t>(bytes[at + 2] | bytes[at + 3] << 8));
  return 0;
}
