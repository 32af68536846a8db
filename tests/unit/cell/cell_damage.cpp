// Cell heaps with overwritten memory: whatever is damaged, walking checks report it or it does no harm, and check()
// ends with an answer. Each case is a heap after some operations, some damage to its memory, and operations with what
// is left: what is written to a live block stays in it, unless the heap reports. The memory that an operation may touch
// lies between protected pages.
//
//   cell_damage [CASES [SEED]]     default: 6000 cases of seed 1. Ends with the number of heaps of which check() has
//                                  named the damage, or with the case in which a heap met a signal, hung, or
//                                  changed a live block
//
// A misuse throws here, so that one process has many. It is reported before anything of the heap changes.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "snug/cell_heap.h"

namespace {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15 + 1) {}
  uint64_t word() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_ * 0x2545f4914f6cdd1d;
  }
  size_t below(size_t bound) { return static_cast<size_t>(word() >> 32) % bound; }
  bool one_in(size_t bound) { return below(bound) == 0; }

 private:
  uint64_t state_;
};

struct ThrowReport {
  [[noreturn]] static void misuse(const char*, const void*, const char* reason) { throw reason; }
};

// Pieces of memory with a page of no access on both sides.
class Pieces {
 public:
  static constexpr size_t kBytes = size_t{16} << 10;

  Pieces() {
    void* const all = mmap(nullptr, kStride * kCount + kGuard, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED) std::abort();
    start_ = static_cast<char*>(all) + kGuard;
    for (size_t i = 0; i < kCount; ++i)
      if (mprotect(start_ + i * kStride, kBytes, PROT_READ | PROT_WRITE) != 0) std::abort();
  }
  void reset() {
    taken_ = 0;
    allow();
  }
  // What a heap has told memory checkers is not so any more.
  void allow() {
    for (size_t i = 0; i < kCount; ++i) snug::unpoison_for_sanitizer(start_ + i * kStride, kBytes);
  }
  // Null if there is none left.
  char* take() { return taken_ < kCount ? start_ + kStride * taken_++ : nullptr; }

 private:
  static constexpr size_t kGuard = 4096;
  static constexpr size_t kStride = kBytes + kGuard;
  static constexpr size_t kCount = 8;
  char* start_;
  size_t taken_ = 0;
};
Pieces pieces;

struct GuardedPages {
  static constexpr size_t kPageBytes = 4096;
  static void* take(size_t bytes) {
    if (bytes > Pieces::kBytes) return nullptr;
    char* const piece = pieces.take();
    return piece == nullptr ? nullptr : piece + Pieces::kBytes - bytes;
  }
  static void give(void* page, size_t bytes) { std::memset(page, 0xdd, bytes); }
};

// A live block, and what was written to it.
struct Block {
  char* start;
  std::vector<char> written;

  void expect_as_written(size_t bytes) const {
    if (std::memcmp(start, written.data(), bytes) == 0) return;
    std::fprintf(stderr, "a live block was changed\n");
    std::abort();
  }
};

// Memory that is there, from `begin` to before `end`.
struct Stretch {
  char* begin;
  char* end;
};

template <class Policy>
class DamagedHeap {
 public:
  using Heap = snug::CellHeap<Policy>;

  explicit DamagedHeap(uint64_t seed) : random_(seed) {
    pieces.reset();
    // Never destroyed: a damaged heap cannot give its pages back.
    if constexpr (kGrows)
      heap_ = new (record_) Heap(GuardedPages{}, snug::RetentionThreshold(random_.below(20000)));
    else
      heap_ = new (record_) Heap;
  }

  // Whether check() has named the damage.
  bool run() {
    make_regions();
    for (size_t steps = 10 + random_.below(60); steps != 0; --steps) take_step();
    note_places();
    const size_t times = 1 + random_.below(3);
    for (size_t i = 0; i < times; ++i) damage();
    const bool named = heap_->check() != nullptr;
    // More damage may hide it: a head that has grown over the cell, say.
    if (must_name_ && times == 1 && !named) {
      std::fprintf(stderr, "check() has not seen an overwritten head or record\n");
      std::abort();
    }
    if constexpr (Policy::Checks::kWalks) {
      // What a stray write did to the caller's own blocks is not the heap's to find.
      for (const Block& block : blocks_) std::memcpy(block.start, block.written.data(), block.written.size());
      for (int steps = 30; steps != 0; --steps) go_on();
      for (const Block& block : blocks_) block.expect_as_written(block.written.size());
    }
    return named;
  }

 private:
  static constexpr bool kGrows = Policy::Pages::kPageBytes != 0;

  void make_regions() {
    if (kGrows) return;
    for (size_t count = 1 + random_.below(3); count != 0; --count) {
      char* const piece = pieces.take();
      const size_t room = random_.one_in(4) ? 600 : Pieces::kBytes;
      const size_t bytes = Heap::kSmallestRegion + random_.below(room - Heap::kSmallestRegion + 1);
      char* const start = random_.one_in(2) ? piece : piece + Pieces::kBytes - bytes;
      if (heap_->add_region(start, bytes) != nullptr) std::abort();
    }
  }

  size_t length() { return random_.one_in(8) ? random_.below(6000) : random_.below(300); }

  void keep(void* block) {
    if (block == nullptr) return;
    blocks_.push_back({static_cast<char*>(block), {}});
    write(blocks_.back());
  }

  void write(Block& block) {
    const size_t bytes = Heap::usable_size(block.start);
    fill(block.start, bytes);
    block.written.assign(block.start, block.start + bytes);
  }

  void take_step() {
    const size_t kind = random_.below(9);
    if (kind < 5 || blocks_.empty()) return keep(heap_->allocate(length()));
    if (kind == 5) return keep(heap_->allocate_aligned(size_t{1} << random_.below(10), length()));
    Block& block = blocks_[random_.below(blocks_.size())];
    if (kind == 6) {
      char* const resized = static_cast<char*>(heap_->resize(block.start, length()));
      if (resized == nullptr) return;
      block.start = resized;
      block.expect_as_written(std::min(block.written.size(), Heap::usable_size(resized)));
      return write(block);
    }
    std::swap(block, blocks_.back());
    const Block freed = std::move(blocks_.back());
    blocks_.pop_back();
    freed.expect_as_written(freed.written.size());
    heap_->deallocate(freed.start);
  }

  // One operation on the damaged heap, some with wrong addresses.
  void go_on() {
    try {
      switch (random_.below(12)) {
        case 0:
          heap_->deallocate(reinterpret_cast<void*>(random_.word()));
          break;
        case 1:
          if (!blocks_.empty()) deallocate_near(blocks_[random_.below(blocks_.size())].start + random_.below(80));
          break;
        case 2:
          heap_->check();
          break;
        case 3:
          heap_->statistics();
          break;
        case 4:
          heap_->release_unused();
          break;
        default:
          take_step();
      }
    } catch (const char* reason) {
      if (reason == nullptr || *reason == '\0') std::abort();
    }
  }

  // Which may be right after all.
  void deallocate_near(char* address) {
    std::erase_if(blocks_, [=](const Block& block) { return block.start == address; });
    heap_->deallocate(address);
  }

  void note_places() {
    heap_->walk([this](const snug::CellView& cell) {
      char* const begin = static_cast<char*>(const_cast<void*>(cell.block)) - sizeof(size_t);
      if (cells_.empty() || cells_.back().end != begin) records_.push_back({});
      records_.back() = {begin + cell.bytes, begin + cell.bytes + sizeof(snug::CellRegion)};
      cells_.push_back({begin, begin + cell.bytes});
    });
  }

  void fill(char* to, size_t bytes) {
    const size_t kind = random_.below(4);
    if (kind == 0) {
      std::memset(to, 0xff, bytes);
    } else if (kind == 1) {
      std::memset(to, 0, bytes);
    } else {
      for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
        const uint64_t word = kind == 2 ? random_.word() : likely_word();
        std::memcpy(to + at, &word, std::min(sizeof word, bytes - at));
      }
    }
  }

  // What might stand in a heap: a head, or the address of a cell.
  uint64_t likely_word() {
    if (random_.one_in(2) || cells_.empty()) return random_.below(64) * 8 + random_.below(4);
    return reinterpret_cast<uintptr_t>(cells_[random_.below(cells_.size())].begin) + random_.below(3) * 8;
  }

  void damage() {
    if (cells_.empty()) return;
    pieces.allow();
    const Stretch cell = cells_[random_.below(cells_.size())];
    const Stretch record = records_[random_.below(records_.size())];
    const Stretch all = {record.end - 1 - random_.below(sizeof(snug::CellRegion) + 600), record.end};
    switch (random_.below(8)) {
      case 0:  // one byte near a region's end
        if (all.begin >= cells_.front().begin && is_known(all.begin)) *all.begin = static_cast<char>(random_.word());
        break;
      case 1:  // a word of a cell
        fill(cell.begin + random_.below(static_cast<size_t>(cell.end - cell.begin) / 8) * 8, 8);
        break;
      case 2:  // a bit of a cell's first or last words
        flip(random_.one_in(2) ? cell.begin + random_.below(24) : cell.end - 1 - random_.below(16));
        break;
      case 3: {  // past a cell's end
        const size_t bytes = 1 + random_.below(64);
        fill(cell.end, std::min(bytes, room_behind(cell.end)));
        break;
      }
      case 4: {  // a head
        std::memset(cell.begin, random_.one_in(2) ? 0xff : 0, sizeof(size_t));
        must_name_ = true;
        break;
      }
      case 5: {  // a block, with its head in one of four cases
        char* const from = random_.one_in(4) ? cell.begin : cell.begin + sizeof(size_t);
        fill(from, static_cast<size_t>(cell.end - from));
        break;
      }
      case 6:  // a record, or its first bytes
        damage_record(record);
        break;
      default:
        flip(record.begin + random_.below(sizeof(snug::CellRegion)));
    }
  }

  void damage_record(Stretch record) {
    std::array<char, sizeof(snug::CellRegion)> before;
    std::memcpy(before.data(), record.begin, before.size());
    const size_t bytes = random_.one_in(2) ? before.size() : 1 + random_.below(before.size());
    fill(record.begin, bytes);
    constexpr size_t kHead = sizeof(size_t);
    must_name_ |= std::memcmp(before.data() + kHead, record.begin + kHead, before.size() - kHead) != 0;
  }

  void flip(char* byte) { *byte = static_cast<char>(static_cast<unsigned char>(*byte) ^ 1u << random_.below(8)); }

  bool is_known(const char* byte) const {
    return std::any_of(cells_.begin(), cells_.end(), [=](Stretch s) { return byte >= s.begin && byte < s.end; }) ||
           std::any_of(records_.begin(), records_.end(), [=](Stretch s) { return byte >= s.begin && byte < s.end; });
  }
  size_t room_behind(const char* place) const {
    for (const Stretch record : records_)
      if (place >= record.end - Pieces::kBytes && place <= record.end) return static_cast<size_t>(record.end - place);
    return 0;
  }

  alignas(64) static inline char record_[sizeof(Heap)];
  Random random_;
  Heap* heap_;
  std::vector<Block> blocks_;
  std::vector<Stretch> cells_;
  std::vector<Stretch> records_;
  bool must_name_ = false;
};

template <class FitPolicy, class TrailerPolicy, size_t kBytes = 16>
struct Walked : snug::DebugCellPolicy {
  using Fit = FitPolicy;
  using Trailer = TrailerPolicy;
  using Misuse = ThrowReport;
  static constexpr size_t kAlignment = kBytes;
};
template <class Base>
struct OnPages : Base {
  using Pages = GuardedPages;
  using Retention = snug::RetentionThreshold;
};
template <class Base>
struct Cheap : Base {
  using Checks = snug::CheapChecks;
};

template <class Policy>
bool run_case(uint64_t seed) {
  return DamagedHeap<Policy>(seed).run();
}

using snug::PowerOfTwoBins;
using snug::RovingScan;
using snug::TrailerAlways;
using snug::TrailerNever;
using snug::TrailerOnFree;
using TwoLevel = snug::TwoLevelBins<>;

constexpr bool (*kCases[])(uint64_t) = {
    run_case<Walked<TwoLevel, TrailerOnFree>>,
    run_case<Walked<TwoLevel, TrailerAlways>>,
    run_case<Walked<TwoLevel, TrailerNever>>,
    run_case<Walked<PowerOfTwoBins, TrailerOnFree>>,
    run_case<Walked<PowerOfTwoBins, TrailerAlways>>,
    run_case<Walked<RovingScan, TrailerOnFree>>,
    run_case<Walked<RovingScan, TrailerNever>>,
    run_case<Walked<TwoLevel, TrailerOnFree, 8>>,
    run_case<Walked<PowerOfTwoBins, TrailerAlways, 8>>,
    run_case<OnPages<Walked<TwoLevel, TrailerOnFree>>>,
    run_case<OnPages<Walked<PowerOfTwoBins, TrailerAlways>>>,
    run_case<OnPages<Walked<RovingScan, TrailerOnFree>>>,
    run_case<Cheap<Walked<TwoLevel, TrailerOnFree>>>,
    run_case<Cheap<Walked<RovingScan, TrailerAlways>>>,
    run_case<Cheap<OnPages<Walked<TwoLevel, TrailerOnFree>>>>,
};

uint64_t current = 0;

void tell(int signal) {
  char line[80];
  const int length = std::snprintf(line, sizeof line, "signal %d in case %llu, policy %llu\n", signal,
                                   static_cast<unsigned long long>(current),
                                   static_cast<unsigned long long>(current % std::size(kCases)));
  if (write(STDERR_FILENO, line, static_cast<size_t>(length)) != length) _exit(2);
  _exit(1);
}

}  // namespace

int main(int count, char** arguments) {
  const uint64_t cases = count > 1 ? std::strtoull(arguments[1], nullptr, 10) : 6000;
  const uint64_t seed = count > 2 ? std::strtoull(arguments[2], nullptr, 10) : 1;
  // A case takes some microseconds: ten minutes are for ever on any machine.
  for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGALRM}) std::signal(signal, tell);
  uint64_t named = 0;
  for (current = 0; current < cases; ++current) {
    alarm(600);
    named += kCases[current % std::size(kCases)](seed << 32 | current) ? 1 : 0;
  }
  std::printf("%llu of %llu damaged heaps were named by check(), none met a signal, hung, or changed a block\n",
              static_cast<unsigned long long>(named), static_cast<unsigned long long>(cases));
  return named > cases / 2 ? 0 : 1;
}
