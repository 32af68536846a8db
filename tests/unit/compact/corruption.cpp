// corruption.cpp: compacting heaps that are written over at random. Each time a heap is made in a region, used for a
// while, and then something is changed: what lies behind a block, what lay at an address that a block has left, a bit
// of a handle, or the heap's own records, tables and free records in the region. check() names it, or the heap serves
// on: then a call ends with one line, or every block that nobody wrote to holds what its owner put there.
//
//   corruption [COUNT [FIRST_SEED]]
//
// Ends with what came of the COUNT corruptions; exit status 1, with the seed, at the first that ends in a signal,
// hangs for seconds, is reported by anything but a line of snug's, or changes another block.
//
// A region holds all that a heap owns, between pages that nobody may touch. The heap object at its start is left alone,
// as in tests of pools and cells. Heaps of one thread, of several with one lock, and direct ones: a lock for each class
// would lie in the records, and one that was written over is waited for.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

#include <sys/mman.h>

#include "compact/handle_table.h"
#include "corruption.h"
#include "snug/base/poison.h"
#include "snug/compact_heap_c.h"

namespace {

using snug::corruption::fail;
using snug::corruption::Outcome;
using snug::corruption::Random;

constexpr size_t kPage = 16384;
constexpr size_t kRegion = 40 * kPage;

// The region, from a page's start on, with a page of no access on both sides at least. At the same address each time,
// if that is free, since what is written over may become one: so a seed can be repeated.
char* make_region() {
  void* const wish = reinterpret_cast<void*>(uintptr_t{1} << 45);
  void* const all = mmap(wish, kRegion + 3 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED) fail("no region");
  char* const start = static_cast<char*>(all) + 2 * kPage - reinterpret_cast<uintptr_t>(all) % kPage;
  if (mprotect(start, kRegion, PROT_READ | PROT_WRITE) != 0) fail("no region");
  return start;
}
char* region;

void move_word(void* from, void* to) { std::memcpy(to, from, sizeof(uint64_t)); }

struct Block {
  snug_handle handle = 0;  // of a direct heap its address
  uint8_t fill = 0;
  uint8_t pins = 0;
  bool is_of_a_kind = false;
  size_t bytes = 0;
};

// A heap and what its user knows of it. Nothing here is freed when a report ends its use: all is made anew.
class Trial {
 public:
  void begin() {
    random.seed(static_cast<unsigned>(snug::corruption::seed) + 1);
    snug::unpoison_for_sanitizer(region, kRegion);
    std::memset(region, 0, kRegion);
    blocks_.clear();
    left_.clear();
    stale_.clear();
    is_direct_ = random() % 8 == 0;
    is_shared_ = !is_direct_ && random() % 3 == 0;
    snug_compact_options options{};
    options.not_full = random() % 4 == 0 ? SNUG_COMPACT_NEVER : 1 + random() % 3;
    options.increment = random() % 2 == 0 ? 64 : 0;
    options.direct = is_direct_ ? 1 : 0;
    options.sharing = is_shared_ ? SNUG_COMPACT_ONE_LOCK : SNUG_COMPACT_ONE_THREAD;
    options.region = region;
    options.region_bytes = kRegion;
    handles_ = random() % 3 == 0 ? 70 : 700;  // fewer than are wanted, or more
    options.handles = handles_;
    heap_ = snug_compact_create(&options);
    if (heap_ == nullptr) fail("no heap");
    reader_ = is_shared_ ? snug_compact_reader_create(heap_) : nullptr;
  }

  void use(unsigned steps) {
    for (; steps != 0; --steps) step();
  }

  // All that was written to counts as its owner's, so that what is found changed later is the heap's doing.
  void fill_anew() {
    for (Block& block : blocks_) fill(block);
  }

  // False: check() names something only now, as what was never in use and was written over.
  bool end() {
    while (!blocks_.empty()) free_last();
    if (check() != nullptr) return false;
    if (reader_ != nullptr) snug_compact_reader_destroy(heap_, reader_);
    snug_compact_destroy(heap_);
    return true;
  }

  void corrupt() {
    snug::unpoison_for_sanitizer(region, kRegion);
    ends_.clear();
    for (const Block& block : blocks_) ends_.push_back(address_of(block) + block.bytes);
    for (unsigned times = 1 + random() % 3; times != 0; --times) corrupt_once();
  }
  const char* check() const { return snug_compact_check(heap_); }
  void expect_sound() const {
    if (const char* const broken = check(); broken != nullptr) fail(broken);
  }

  Random random;

 private:
  size_t length() { return random() % 24 == 0 ? random() % 60000 : random() % (random() % 4 == 0 ? 9000 : 300); }

  char* address_of(const Block& block) {
    return is_direct_ ? reinterpret_cast<char*>(block.handle)
                      : static_cast<char*>(snug_compact_deref(heap_, block.handle));
  }
  void fill(const Block& block) { std::memset(address_of(block), block.fill, block.bytes); }
  void expect_filled(const Block& block, size_t bytes) {
    const char* const at = address_of(block);
    for (size_t i = 0; i < bytes; ++i)
      if (static_cast<uint8_t>(at[i]) != block.fill) fail("changes a block");
  }

  void allocate() {
    Block block;
    block.bytes = length();
    block.fill = static_cast<uint8_t>(random());
    const size_t alignment = random() % 8 == 0 ? size_t{1} << random() % 13 : 0;
    block.is_of_a_kind = !is_direct_ && random() % 6 == 0;
    if (is_direct_) {
      block.handle = reinterpret_cast<uintptr_t>(snug_compact_direct_alloc(heap_, block.bytes, alignment));
    } else if (block.is_of_a_kind) {
      block.bytes = sizeof(uint64_t);
      block.handle = snug_compact_alloc_relocated(heap_, 8 + 16 * (random() % 3), 0, &move_word);
    } else {
      block.handle = snug_compact_alloc(heap_, block.bytes, alignment);
    }
    if (block.handle == 0) return;
    fill(block);
    blocks_.push_back(block);
  }

  void free_last() {
    Block block = blocks_.back();
    blocks_.pop_back();
    expect_filled(block, block.bytes);
    for (; block.pins != 0; --block.pins) snug_compact_unpin(heap_, block.handle);
    left_.push_back(address_of(block));
    if (is_direct_) return snug_compact_direct_free(heap_, reinterpret_cast<void*>(block.handle));
    snug_compact_free(heap_, block.handle);
    stale_.push_back(block.handle);
  }

  void resize(Block& block) {
    if (is_direct_) return;
    left_.push_back(address_of(block));
    const size_t bytes = block.is_of_a_kind ? block.bytes : length();
    if (snug_compact_resize(heap_, block.handle, bytes, 0) != 0) return;
    expect_filled(block, std::min(bytes, block.bytes));
    block.bytes = bytes;
    fill(block);
  }

  void pin(Block& block) {
    if (is_direct_) return;
    if (block.pins != 0 && random() % 2 == 0) {
      --block.pins;
      snug_compact_unpin(heap_, block.handle);
    } else if (snug_compact_pin(heap_, block.handle) != nullptr) {
      ++block.pins;
    }
  }

  void step() {
    const unsigned kind = random() % 40;
    if (blocks_.empty() || kind < 17) return allocate();
    Block& block = blocks_[random() % blocks_.size()];
    if (kind < 29) {
      std::swap(block, blocks_.back());
      return free_last();
    }
    if (kind < 32) return resize(block);
    if (kind < 34) return pin(block);
    if (kind < 36) return expect_filled(block, block.bytes);
    snug_compact_stats stats;
    if (kind == 36) return snug_compact_get_stats(heap_, &stats);
    if (is_direct_) return;
    if (kind == 37) return compact();
    if (kind == 38) return look_up();
    if (random() % 2 == 0) return snug_compact_settle(heap_);
    snug_compact_walk(heap_, [](void*, snug_handle, void*, size_t) {}, nullptr);
  }

  void compact() {
    if (random() % 4 == 0) return snug_compact_set_not_full(heap_, 1 + random() % 4);
    const snug_compact_budget budget{0, random() % 2 == 0 ? 0 : 32 + random() % 3000};
    snug_compact_step(heap_, &budget);
    if (random() % 2 == 0) snug_compact_give_back(heap_, random() % 3);
  }

  // A handle that names nothing does no harm.
  void look_up() {
    if (reader_ != nullptr) snug_compact_enter(heap_, reader_);
    if (!stale_.empty()) snug_compact_try_deref(heap_, stale_[random() % stale_.size()]);
    snug_compact_try_deref(heap_, uint64_t{random()} << 33 | random() % 1000);
    if (reader_ != nullptr) snug_compact_leave(heap_, reader_);
  }

  // ---- what is written over

  char* end_of_region() const { return region + kRegion; }
  size_t table_bytes() const { return is_direct_ ? 0 : snug::HandleTable::bytes_for(handles_ + 1); }
  // The table of handles lies right behind the heap object, and slots at its end.
  char* start_of_table() const {
    if (is_direct_) return start_of_source();
    snug_compact_view view;
    snug_compact_get_view(heap_, &view);
    return reinterpret_cast<char*>(const_cast<uint64_t*>(view.slots + handles_ + 1)) - table_bytes();
  }
  // From the next page on the tables of pages lie, from the one after it pages.
  char* start_of_source() const {
    const char* const behind = is_direct_ ? reinterpret_cast<char*>(heap_) + 1 : start_of_table() + table_bytes();
    return region + (static_cast<size_t>(behind - region) + kPage - 1) / kPage * kPage;
  }

  void write_over(char* start) {
    if (start >= end_of_region()) return;
    const char* const into = region + random() % kRegion / 8 * 8;
    const char* const near = start_of_source() + kPage + random() % 3072 / 64 * 64;  // of a record, mostly
    snug::corruption::write_over(start, static_cast<size_t>(end_of_region() - start), random() % 2 != 0 ? into : near,
                                 random);
  }

  void corrupt_once() {
    char* const source = start_of_source();
    switch (random() % 8) {
      case 0:  // behind a block
        if (!ends_.empty()) overflow(ends_[random() % ends_.size()]);
        break;
      case 1:  // by an address that a block has left
        if (!left_.empty()) write_over(left_[random() % left_.size()] + random() % 16);
        break;
      case 2:  // the table of handles: its first words are its bits, and its lowest slots are in use
        if (!is_direct_) write_over(start_of_table() + random() % (random() % 4 == 0 ? table_bytes() : 800));
        break;
      case 3:  // where free records are, which pages are taken, and by which class: the last third
        write_over(source + (random() % 4 == 0 ? random() % 2400 : 2056 + random() % 200));
        break;
      case 4:  // a handle: its generation, or what is always zero
        if (!blocks_.empty() && !is_direct_)
          blocks_[random() % blocks_.size()].handle ^= uint64_t{1} << (32 + random() % 32);
        break;
      default:  // the first records
        write_over(source + kPage + random() % (random() % 4 != 0 ? 3072 : kPage));
    }
  }

  void overflow(char* start) {
    const size_t room = static_cast<size_t>(end_of_region() - start);
    const size_t length = std::min<size_t>(1 + random() % (random() % 8 == 0 ? 40000 : 64), room);
    for (size_t i = 0; i < length; ++i) start[i] = static_cast<char>(random());
  }

  snug_compact_heap* heap_ = nullptr;
  snug_compact_reader* reader_ = nullptr;
  size_t handles_ = 0;
  bool is_direct_ = false;
  bool is_shared_ = false;
  std::vector<Block> blocks_;
  std::vector<char*> ends_;         // of blocks, before anything is written over
  std::vector<char*> left_;         // addresses that blocks have had
  std::vector<snug_handle> stale_;  // handles that name nothing
};

struct Outcomes {
  Outcome all;
  uint64_t named = 0;  // of those that are reported, by check()
};

void run_one(Trial& trial, Outcomes& outcomes) {
  trial.begin();
  trial.use(20 + trial.random() % 400);
  trial.expect_sound();
  trial.corrupt();
  if (trial.check() != nullptr) {
    ++outcomes.named;
    ++outcomes.all.reported;
    return;
  }
  bool is_sound = false;
  const bool is_told = snug::corruption::is_reported("snug: ", [&] {
    trial.fill_anew();
    trial.use(300);
    is_sound = trial.end();
  });
  if (!is_told && !is_sound) ++outcomes.named;
  ++(is_sound ? outcomes.all.harmless : outcomes.all.reported);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace snug::corruption;
  const uint64_t count = argument(argc, argv, 1, 5000);
  region = make_region();
  static Trial trial;
  Outcomes outcomes;
  for_each_seed(argument(argc, argv, 2, 1), count, [&] { run_one(trial, outcomes); });
  outcomes.all.print("compacting heaps");
  std::printf("check() has named %llu of the reported\n", static_cast<unsigned long long>(outcomes.named));
  if (count >= 1000 && outcomes.named < count / 4) fail("hardly any is reported");
  return 0;
}
