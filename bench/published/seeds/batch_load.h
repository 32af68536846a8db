// BatchLoad: Compact-fit's random load on several threads. A thread has buffers, each with a batch of blocks. Over and
// over it allocates a batch, writes the first word of each block, and frees the batch of a buffer that chance chooses:
// of its own, or, every s-th time (*sharing*), of the next thread.
#pragma once

#include <array>
#include <atomic>
#include <barrier>
#include <cstdint>
#include <deque>
#include <thread>
#include <vector>

#include "thread_heaps.h"
#include "workload.h"

namespace seeds {

struct BatchLoad {
  static constexpr size_t kMostBlocks = 512;

  size_t blocks = kMostBlocks;  // of a batch
  size_t buffers = 32;          // of a thread
  unsigned every = 0;           // so many times a thread frees a batch of the next one; 0: never
  size_t (*draw)(workload::Random&) = nullptr;
  unsigned verify = 64;  // one block in so many is compared before it is freed
};

// The document's sizes: of 4494, so many from [0, 16) (here from 8, room for a word), [16, 32), [32, 64) … [2048,
// 4096).
inline size_t draw_mixed(workload::Random& random) {
  constexpr std::array<size_t, 9> kWeights = {10, 98, 4325, 18, 11, 13, 5, 8, 6};
  size_t at = random.below(4494), power = 0;
  while (at >= kWeights[power]) at -= kWeights[power++];
  const size_t low = size_t{8} << power;
  return low + random.below(low);
}

// What takes long to move: each doubling from 512 B to 32 KiB as likely as any other.
inline size_t draw_large(workload::Random& random) { return random.log_between(512, 32 << 10); }

// One size, which takes at least a word.
template <size_t kBytes>
size_t draw_exactly(workload::Random&) {
  return kBytes;
}

constexpr BatchLoad kMixed{.draw = draw_mixed};
constexpr BatchLoad kLarge{.blocks = 64, .buffers = 4, .draw = draw_large};

struct Batch {
  unsigned owner;
  std::array<BlockName, BatchLoad::kMostBlocks> names;
};

// The batches of a thread, which it puts in itself, and others may take out.
class alignas(64) BatchBuffers {
 public:
  // Another batch comes out if there is no place.
  Batch* put(Batch* batch, size_t start) {
    for (size_t i = 0; i < kPlaces; ++i) {
      std::atomic<Batch*>& place = places_[(start + i) % kPlaces];
      if (place.load(std::memory_order_relaxed) != nullptr) continue;
      place.store(batch, std::memory_order_release);
      return nullptr;
    }
    return places_[start % kPlaces].exchange(batch, std::memory_order_acq_rel);
  }
  // Null if there is none.
  Batch* take(size_t start) {
    for (size_t i = 0; i < kPlaces; ++i) {
      std::atomic<Batch*>& place = places_[(start + i) % kPlaces];
      if (place.load(std::memory_order_relaxed) == nullptr) continue;
      if (Batch* const batch = place.exchange(nullptr, std::memory_order_acq_rel)) return batch;
    }
    return nullptr;
  }

 private:
  static constexpr size_t kPlaces = 64;  // more than buffers: a neighbour is faster for a time
  std::array<std::atomic<Batch*>, kPlaces> places_{};
};

template <class Heaps>
class BatchThread {
 public:
  BatchThread(Heaps& heaps, const BatchLoad& load, std::deque<BatchBuffers>& buffers, unsigned number, uint64_t seed)
      : heaps_(heaps),
        load_(load),
        own_(buffers[number]),
        next_(buffers[(number + 1) % buffers.size()]),
        number_(number),
        random_(seed * 64 + number),
        sizes_(kSizes),
        batches_(load.buffers + 1) {
    for (uint32_t& size : sizes_) size = static_cast<uint32_t>(load.draw(random_));
  }

  // By the thread itself.
  void fill() {
    for (size_t i = 0; i < load_.buffers; ++i) {
      allocate(batches_[i]);
      own_.put(&batches_[i], random_.next());
    }
    spare_ = &batches_[load_.buffers];
  }

  // Twice as many operations as a batch has blocks.
  void turn() {
    allocate(*spare_);
    Batch* batch = own_.put(spare_, random_.next());
    BatchBuffers& from = load_.every != 0 && ++turns_ % load_.every == 0 ? next_ : own_;
    while (batch == nullptr) {
      batch = from.take(random_.next());
      if (batch == nullptr) batch = own_.take(random_.next());
      if (batch == nullptr) std::this_thread::yield();
    }
    free(*batch);
    spare_ = batch;
  }

 private:
  static constexpr size_t kSizes = 1 << 14;

  static uint64_t stamp_of(BlockName name) { return name * 0x9e3779b97f4a7c15ull; }

  void allocate(Batch& batch) {
    batch.owner = number_;
    for (size_t i = 0; i < load_.blocks; ++i) {
      batch.names[i] = heaps_.allocate(number_, sizes_[next_size_++ % kSizes]);
      if (batch.names[i] == 0) workload::fail("out of memory");
    }
    const typename Heaps::Look look(heaps_, number_, number_);
    for (size_t i = 0; i < load_.blocks; ++i)
      *static_cast<uint64_t*>(heaps_.address(number_, batch.names[i])) = stamp_of(batch.names[i]);
  }

  void free(const Batch& batch) {
    {
      const typename Heaps::Look look(heaps_, number_, batch.owner);
      for (size_t i = 0; i < load_.blocks; i += load_.verify)
        if (*static_cast<uint64_t*>(heaps_.address(batch.owner, batch.names[i])) != stamp_of(batch.names[i]))
          workload::fail("a block was damaged");
    }
    for (size_t i = 0; i < load_.blocks; ++i) heaps_.free(batch.owner, batch.names[i]);
  }

  Heaps& heaps_;
  const BatchLoad& load_;
  BatchBuffers& own_;
  BatchBuffers& next_;
  const unsigned number_;
  workload::Random random_;
  workload::Array<uint32_t> sizes_;
  workload::Array<Batch> batches_;
  Batch* spare_ = nullptr;
  size_t next_size_ = 0;
  unsigned turns_ = 0;
};

struct LoadResult {
  double operations = 0;
  double ns = 0;
  HeapCounts before;
  HeapCounts after;
};

// Runs the load on so many threads. Meanwhile the caller's thread does whatever `meanwhile` does, which ends it.
template <class Heaps, class Meanwhile>
LoadResult run_load(Heaps& heaps, const BatchLoad& load, unsigned threads, uint64_t seed, Meanwhile&& meanwhile) {
  std::deque<BatchBuffers> buffers(threads);
  std::deque<BatchThread<Heaps>> loads;
  for (unsigned i = 0; i < threads; ++i) loads.emplace_back(heaps, load, buffers, i, seed);
  std::barrier start(static_cast<std::ptrdiff_t>(threads) + 1);
  std::atomic<bool> ends{false};
  std::atomic<uint64_t> turns{0};
  std::vector<std::thread> running;
  for (BatchThread<Heaps>& each : loads) {
    running.emplace_back([&] {
      each.fill();
      start.arrive_and_wait();  // full
      start.arrive_and_wait();  // the statistics are taken
      uint64_t done = 0;
      // At least one each: a short run on a busy machine may end before a thread begins.
      do {
        each.turn();
        ++done;
      } while (!ends.load(std::memory_order_relaxed));
      turns.fetch_add(done);
    });
  }
  LoadResult result;
  start.arrive_and_wait();
  result.before = heaps.stats();
  const double began = workload::now_ns();
  start.arrive_and_wait();
  meanwhile();
  ends.store(true);
  for (std::thread& thread : running) thread.join();
  result.ns = workload::now_ns() - began;
  result.operations = static_cast<double>(turns.load() * 2 * load.blocks);
  result.after = heaps.stats();
  heaps.check();
  return result;
}

inline void sleep_ns(double ns) { std::this_thread::sleep_for(std::chrono::nanoseconds(static_cast<int64_t>(ns))); }

}  // namespace seeds
