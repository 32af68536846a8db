// Remote frees and the mailbox: what many set, one takes, each bit once; a slab is posted once until it is taken.
#include "slab/remote_frees.h"
#include "slab/mailbox.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "base/lock.h"
#include "base/std_atomics.h"

namespace snug {
namespace {

using Frees = RemoteFrees<StdAtomics>;
using Box = Mailbox<Frees, StdAtomics, Lock>;

constexpr size_t kWords = 16;

// The record of a slab of kWords words.
class Record {
 public:
  Record() : frees_(*::new(memory_->bytes) Frees(nullptr, 0)) {}
  Frees& operator*() { return frees_; }
  Frees* operator->() { return &frees_; }

 private:
  struct alignas(64) Memory {
    char bytes[sizeof(Frees) + kWords * 8] = {};
  };
  std::unique_ptr<Memory> memory_ = std::make_unique<Memory>();
  Frees& frees_;
};

TEST(RemoteFrees, TheFirstIsToldOnceUntilTheyAreTaken) {
  Record record;
  EXPECT_FALSE(record->any());
  EXPECT_EQ(record->add(3, 0b1), Frees::Added::kFirst);
  EXPECT_EQ(record->add(3, 0b10), Frees::Added::kMore);
  EXPECT_EQ(record->add(15, 0b100), Frees::Added::kMore);
  EXPECT_TRUE(record->any());
  std::vector<std::pair<size_t, uint64_t>> taken;
  const auto note = [&](size_t word, uint64_t mask) { taken.emplace_back(word, mask); };
  record->take(note);
  EXPECT_EQ(taken, (std::vector<std::pair<size_t, uint64_t>>{{3, 0b11}, {15, 0b100}}));
  EXPECT_FALSE(record->any());
  EXPECT_EQ(record->add(3, 0b1), Frees::Added::kFirst);
}

TEST(RemoteFrees, ABlockThatIsThereIsSeen) {
  Record record;
  record->add(0, 0b110);
  EXPECT_EQ(record->add(0, 0b100), Frees::Added::kTwice);
  EXPECT_EQ(record->add(0, 0b1), Frees::Added::kMore);
  record->add(2, 0b1000);
  for (size_t slot = 0; slot != kWords * 64; ++slot)
    EXPECT_EQ(record->has(slot), slot == 0 || slot == 1 || slot == 2 || slot == 131) << slot;
}

TEST(Mailbox, TheFirstItemIsLeftToAnOwnerThatComesBy) {
  Box box;
  std::vector<Frees*> opened;
  const auto open = [&](Frees& item) { opened.push_back(&item); };
  Record first, second;
  EXPECT_TRUE(box.wants_senders()) << "nobody owns it yet";
  box.begin_hold(open);
  EXPECT_FALSE(box.wants_senders());
  box.lock().lock();
  box.post(&*first);
  EXPECT_TRUE(box.wants_senders()) << "mail waits";
  box.post(&*second);
  box.look_again(open);
  EXPECT_TRUE(box.has_mail()) << "the owner is expected";
  box.end_hold(open);
  EXPECT_EQ(opened, (std::vector<Frees*>{&*second, &*first})) << "the thread that drops the lock looks once more";
  EXPECT_FALSE(box.wants_senders());
}

TEST(Mailbox, AVisitMakesSendersLook) {
  Box box;
  std::vector<Frees*> opened;
  const auto open = [&](Frees& item) { opened.push_back(&item); };
  Record item;
  box.begin_hold(open);
  box.post(&*item);
  ASSERT_TRUE(box.try_visit(open));
  EXPECT_EQ(opened.size(), 1u);
  EXPECT_FALSE(box.try_visit(open)) << "the lock is taken";
  box.end_visit(open);
  EXPECT_TRUE(box.wants_senders());
  box.post(&*item);
  EXPECT_TRUE(box.has_mail());
  box.look_again(open);
  EXPECT_FALSE(box.has_mail()) << "nobody else is expected";
  box.begin_hold(open);
  EXPECT_FALSE(box.wants_senders());
}

TEST(Mailbox, AHoldOpensAFew) {
  Box box;
  std::vector<Record> items(2 * kAtATime + 1);
  size_t opened = 0;
  const auto open = [&](Frees&) { ++opened; };
  box.begin_hold(open);
  for (Record& item : items) box.post(&*item);
  box.begin_hold(open);
  EXPECT_EQ(opened, kAtATime);
  EXPECT_TRUE(box.wants_senders()) << "the rest is for the next thread to take the lock";
  box.begin_visit(open);
  EXPECT_EQ(opened, 2 * kAtATime);
  box.end_visit(open);
  EXPECT_EQ(opened, items.size()) << "a visitor holds the lock as often as it takes";
}

TEST(Mailbox, NoBitIsLostOrComesTwice) {
  constexpr size_t kThreads = 4, kSlabs = 8, kRounds = 200;
  std::vector<Record> slabs(kSlabs);
  Box box;
  std::atomic<size_t> running{kThreads};
  std::atomic<size_t> set{0};
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (size_t round = 0; round < kRounds; ++round)
        for (size_t slab = 0; slab < kSlabs; ++slab)
          for (size_t word = 0; word < kWords; ++word) {
            const uint64_t mask = uint64_t{1} << (t * 16 + round % 16);
            Frees::Added added = Frees::Added::kTwice;
            while (added == Frees::Added::kTwice) added = slabs[slab]->add(word, mask);
            set.fetch_add(1);
            if (added == Frees::Added::kFirst) box.post(&*slabs[slab]);
          }
      --running;
    });
  size_t taken = 0;
  const auto open = [&](Frees& slab) {
    slab.take([&](size_t, uint64_t mask) {
      EXPECT_NE(mask, 0u);
      taken += count_ones(mask);
    });
  };
  const auto take = [&] {
    box.lock().lock();
    box.begin_hold(open);
    box.open_all(open);
    box.end_hold(open);
  };
  while (running.load() != 0) take();
  for (std::thread& thread : threads) thread.join();
  take();
  EXPECT_EQ(taken, set.load());
  for (Record& slab : slabs) EXPECT_FALSE(slab->any());
}

}  // namespace
}  // namespace snug
