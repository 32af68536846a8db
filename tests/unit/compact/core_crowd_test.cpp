// Threads on cores that the test says, each its own: heaps come into being while others are asked for, blocks are freed
// on other cores than those they are from, and one section holds the blocks of all heaps.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <iterator>
#include <latch>
#include <mutex>
#include <random>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "allocator/allocator.h"
#include "allocator/blocks.h"
#include "base/compiler.h"
#include "compact/core_heaps.h"

namespace snug {
namespace {

constexpr size_t kCores = 4;

thread_local size_t core = 0;

class OwnHeaps : public CoreHeaps {
 public:
  OwnHeaps()
      : CoreHeaps(kFineMap, PageSource(allocator.spans, allocator.mappings, {allocate_record, deallocate}), 7,
                  this_core) {
    EXPECT_TRUE(open(kCores, HandleTable::kStep));
  }
  ~OwnHeaps() {
    EXPECT_EQ(check(), nullptr);
    close();
  }
  OwnHeaps(const OwnHeaps&) = delete;
  OwnHeaps& operator=(const OwnHeaps&) = delete;

  // In a section.
  char* find(HandleWord handle) { return heap_of(handle).find(handle); }
  void free(HandleWord handle) { heap_of(handle).free(handle); }
  static size_t index_of(HandleWord handle) { return HandleTable::slot_of(handle) / HandleTable::kStep; }
  size_t heaps_that_moved() const {
    size_t count = 0;
    for_each([&](CompactFit& heap) { count += heap.totals().pages.moves.finished != 0 ? 1 : 0; });
    return count;
  }

 private:
  static size_t this_core() { return core; }
  static void* allocate_record(size_t bytes) { return allocate_aligned(kCacheLine, bytes); }
};

class OwnSection {
 public:
  explicit OwnSection(OwnHeaps& heaps) : readers_(heaps.first()), reader_(readers_.open_reader()) {
    EXPECT_NE(reader_, nullptr);
  }
  ~OwnSection() { readers_.close_reader(reader_); }
  OwnSection(const OwnSection&) = delete;
  OwnSection& operator=(const OwnSection&) = delete;
  void enter() { readers_.enter(*reader_); }
  void leave() { readers_.leave(*reader_); }

 private:
  CompactFit& readers_;
  CompactFit::Reader* const reader_;
};

class CoreCrowdTest : public testing::Test {
 protected:
  CoreCrowdTest() {
    EXPECT_TRUE(allocator.ensure_open());
    core = 0;
  }
};

// Two threads of each core allocate at once where only the first core has a heap: the others are made once each.
TEST_F(CoreCrowdTest, ACoreHasOneHeapWhoeverAsksFirst) {
  constexpr size_t kThreads = 2 * kCores;
  for (int round = 0; round < (kSanitized ? 30 : 200); ++round) {
    OwnHeaps heaps;
    HandleWord handles[kThreads] = {};
    std::latch begin(kThreads);
    std::vector<std::thread> threads;
    for (size_t i = 0; i < kThreads; ++i)
      threads.emplace_back([&, i] {
        core = i / 2;
        begin.arrive_and_wait();
        handles[i] = heaps.allocate(64, 1);
      });
    for (std::thread& thread : threads) thread.join();
    for (size_t i = 0; i < kThreads; ++i) EXPECT_EQ(OwnHeaps::index_of(handles[i]), i / 2);
    EXPECT_EQ(std::set<HandleWord>(std::begin(handles), std::end(handles)).size(), kThreads);
    size_t count = 0;
    heaps.for_each([&](CompactFit& heap) {
      EXPECT_EQ(heap.totals().pages.blocks, 2u);
      ++count;
    });
    ASSERT_EQ(count, kCores);
    for (const HandleWord handle : handles) heaps.free(handle);
  }
}

// A heap that is made while another thread sets the bound of all heaps gets that bound.
TEST_F(CoreCrowdTest, AHeapThatComesMeanwhileIsToldTheBound) {
  for (int round = 0; round < (kSanitized ? 30 : 200); ++round) {
    OwnHeaps heaps;
    heaps.set_bound(1);
    std::latch begin(2);
    std::thread teller([&] {
      begin.arrive_and_wait();
      heaps.set_bound(CompactFit::kNever);
    });
    core = 1;
    begin.arrive_and_wait();
    std::vector<HandleWord> handles;
    handles.push_back(heaps.allocate(256, 1));
    teller.join();
    for (int i = 1; i < 640; ++i) handles.push_back(heaps.allocate(256, 1));  // ten pages
    for (size_t i = 0; i < handles.size(); i += 2) heaps.free(handles[i]);
    ASSERT_EQ(heaps.totals().pages.rows_open, 10u);
  }
}

// Threads that change their cores, and hand blocks on to each other.
class Crowd {
 public:
  Crowd(OwnHeaps& heaps, size_t operations) : heaps_(heaps), operations_(operations) {}

  void run(size_t threads) {
    OwnSection section(heaps_);
    std::minstd_rand random(1000);
    for (int i = 0; i < 20; ++i) common_.push_back(make(random, section));
    std::vector<std::thread> all;
    for (size_t i = 0; i < threads; ++i) all.emplace_back([this, i] { work(i); });
    std::thread compactor([this] { compact(); });
    for (std::thread& thread : all) thread.join();
    done_ = true;
    compactor.join();
    for (const Own& block : common_) end(block, section);
  }

 private:
  struct Own {
    HandleWord handle = 0;
    size_t bytes = 0;
    char content = 0;
  };

  void work(size_t number) {
    std::minstd_rand random(static_cast<unsigned>(number + 1));
    OwnSection section(heaps_);
    std::vector<Own> own;
    for (size_t i = 0; i < operations_; ++i) {
      if (i % 64 == 0) core = random() % (2 * kCores);
      if (own.size() < 800 || random() % 2 == 0) {
        own.push_back(make(random, section));
        continue;
      }
      std::swap(own[random() % own.size()], own.back());
      if (random() % 4 == 0) exchange(own.back(), random() % common_.size());
      if (random() % 8 == 0) change(own.back(), random);
      end(own.back(), section);
      own.pop_back();
    }
    for (const Own& block : own) end(block, section);
  }
  Own make(std::minstd_rand& random, OwnSection& section) {
    // Most of one class, so that it has several pages in each heap.
    const size_t sizes[] = {250, 250, 250, 1 + random() % (random() % 12 == 0 ? 40000 : 400)};
    Own block{0, sizes[random() % 4], static_cast<char>(random())};
    block.handle = heaps_.allocate(block.bytes, 1);
    EXPECT_NE(block.handle, 0u);
    section.enter();
    std::memset(heaps_.find(block.handle), block.content, block.bytes);
    section.leave();
    return block;
  }
  void end(const Own& block, OwnSection& section) {
    section.enter();
    const char* const address = heaps_.find(block.handle);
    EXPECT_EQ(std::count(address, address + block.bytes, block.content), static_cast<ptrdiff_t>(block.bytes));
    section.leave();
    heaps_.free(block.handle);
  }
  void change(Own& block, std::minstd_rand& random) {
    CompactFit& heap = heaps_.heap_of(block.handle);
    const char* const pinned = heap.pin(block.handle);
    EXPECT_EQ(pinned[block.bytes - 1], block.content);
    heap.unpin(block.handle);
    const size_t bytes = 1 + random() % 3000;
    EXPECT_TRUE(heap.resize(block.handle, bytes, 1));
    block.bytes = std::min(block.bytes, bytes);
  }
  // Another's block for one's own.
  void exchange(Own& block, size_t place) {
    const std::lock_guard guard(mutex_);
    std::swap(block, common_[place]);
  }
  void compact() {
    for (size_t bound = 1; !done_; bound = bound % 3 + 1) {
      heaps_.set_bound_of(200, bound);
      heaps_.set_increment(bound * 64);
      CompactBudget slice(0, 10000);
      heaps_.step(slice);
      EXPECT_EQ(heaps_.check(), nullptr);
      std::this_thread::yield();
    }
  }

  OwnHeaps& heaps_;
  const size_t operations_;  // of each thread
  std::mutex mutex_;
  std::vector<Own> common_;  // what threads hand on
  std::atomic<bool> done_{false};
};

TEST_F(CoreCrowdTest, NothingIsLostWhereBlocksAreFreedOnOtherCores) {
  OwnHeaps heaps;
  constexpr int kMost = 100;
  for (int round = 0; round == 0 || (heaps.heaps_that_moved() != kCores && round != kMost); ++round)
    Crowd(heaps, kSanitized ? 5000 : 20000).run(4);
  EXPECT_EQ(heaps.heaps_that_moved(), kCores);
  heaps.set_bound(1);
  CompactBudget unlimited;
  EXPECT_FALSE(heaps.step(unlimited));
  const CompactFit::Totals totals = heaps.totals();
  EXPECT_EQ(totals.pages.blocks, 0u);
  EXPECT_EQ(totals.pages.pages, 0u);
  EXPECT_EQ(totals.pages.pins, 0u);
}

// A mover for each heap: its frees move blocks that two readers look at, some of each heap at a time.
class Reading {
 public:
  static constexpr size_t kBlock = 256, kKept = 100;  // of each core

  explicit Reading(OwnHeaps& heaps) : heaps_(heaps) {
    for (size_t i = 0; i < kCores * kKept; ++i) {
      core = i % kCores;
      kept_.push_back(heaps_.allocate(kBlock, 1));
      std::memcpy(heaps_.find(kept_.back()), &kept_.back(), sizeof(HandleWord));
      for (int hole = 0; hole < 7; ++hole) between_.push_back(heaps_.allocate(kBlock, 1));
    }
  }
  // Returns how often a block was not where it was in the same section.
  size_t run(int rounds) {
    std::vector<std::thread> movers;
    std::vector<std::thread> readers;
    for (size_t i = 0; i < kCores; ++i) movers.emplace_back([this, i, rounds] { move(i, rounds); });
    for (unsigned i = 0; i < 2; ++i) readers.emplace_back([this, i] { read(i); });
    for (std::thread& mover : movers) mover.join();
    done_ = true;
    for (std::thread& reader : readers) reader.join();
    for (const HandleWord handle : kept_) heaps_.free(handle);
    return wrong_;
  }

 private:
  // Frees on the next core what the core's heap has, and fills it again.
  void move(size_t number, int rounds) {
    std::minstd_rand random(static_cast<unsigned>(number + 1));
    std::vector<HandleWord> blocks;
    for (const HandleWord handle : between_)
      if (OwnHeaps::index_of(handle) == number) blocks.push_back(handle);
    const size_t count = blocks.size();
    for (int round = 0; round < rounds; ++round) {
      core = (number + 1) % kCores;
      std::ranges::shuffle(blocks, random);
      for (const HandleWord handle : blocks) heaps_.free(handle);
      blocks.clear();
      core = number;
      while (round + 1 != rounds && blocks.size() != count) {
        blocks.push_back(heaps_.allocate(kBlock, 1));
        EXPECT_EQ(OwnHeaps::index_of(blocks.back()), number);
      }
    }
  }
  void read(unsigned number) {
    std::minstd_rand random(number + 1);
    OwnSection section(heaps_);
    while (!done_) {
      std::vector<std::pair<HandleWord, const char*>> seen;
      section.enter();
      for (size_t i = 0; i < 4 * kCores; ++i) {
        const HandleWord handle = kept_[random() % kept_.size()];
        seen.emplace_back(handle, heaps_.find(handle));
      }
      if (random() % 4 == 0) std::this_thread::yield();
      for (const auto& [handle, address] : seen)
        if (heaps_.find(handle) != address || std::memcmp(address, &handle, sizeof handle) != 0) ++wrong_;
      section.leave();
    }
  }

  OwnHeaps& heaps_;
  std::vector<HandleWord> kept_;
  std::vector<HandleWord> between_;
  std::atomic<bool> done_{false};
  std::atomic<size_t> wrong_{0};
};

TEST_F(CoreCrowdTest, ASectionHoldsWhatSeveralMoversWouldMove) {
  OwnHeaps heaps;
  EXPECT_EQ(Reading(heaps).run(kSanitized ? 10 : 60), 0u);
  CompactBudget unlimited;
  EXPECT_FALSE(heaps.step(unlimited));
  EXPECT_EQ(heaps.totals().pages.pages, 0u);
  EXPECT_EQ(heaps.heaps_that_moved(), kCores);
}

}  // namespace
}  // namespace snug
