// Eight threads exchange blocks through shared slots: each puts one in and takes out, verifies and frees whatever was
// there.
//
// The only synchronisation is the slot's own exchange: release publishes the block's contents, acquire receives them.
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "heap_quiet.h"
#include "stamped_block.h"
#include "stress_scale.h"

namespace snug::stress {
namespace {

constexpr uint64_t kExchanges = 250'000;  // of each thread
constexpr size_t kSlots = 512;

class Mailboxes {
 public:
  // Returns false if a damaged block came out.
  bool exchange(size_t slot, Stamp* mine) {
    Stamp* const other = slots_[slot].exchange(mine, std::memory_order_acq_rel);
    return other == nullptr || verify_and_free(other);
  }

  uint64_t empty() {
    uint64_t damaged = 0;
    for (size_t slot = 0; slot < kSlots; ++slot) damaged += exchange(slot, nullptr) ? 0 : 1;
    return damaged;
  }

 private:
  std::atomic<Stamp*> slots_[kSlots] = {};
};

TEST(Mailbox, EightThreadsExchangeVerifiedBlocks) {
  const snug_stats before = stats_now();
  Mailboxes mailboxes;
  std::atomic<uint64_t> damaged{0};
  std::vector<std::thread> threads;
  for (unsigned self = 0; self < kThreads; ++self) {
    threads.emplace_back([&, self] {
      SmallRandom random(self + 1);
      for (uint64_t i = 0; i < scaled(kExchanges); ++i) {
        Stamp* const block = make_stamped(self, i, random.length());
        if (block == nullptr || !mailboxes.exchange(random.below(kSlots), block)) ++damaged;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(mailboxes.empty(), 0u);
  EXPECT_EQ(damaged.load(), 0u);
  expect_quiet(before);
}

// The same, but received blocks are grown or shrunk by the receiver first: realloc of a block that another thread made.
TEST(Mailbox, ReceiversReallocate) {
  const snug_stats before = stats_now();
  std::atomic<Stamp*> slots[64] = {};
  std::atomic<uint64_t> damaged{0};
  std::vector<std::thread> threads;
  for (unsigned self = 0; self < kThreads; ++self) {
    threads.emplace_back([&, self] {
      SmallRandom random(self + 100);
      for (uint64_t i = 0; i < scaled(kExchanges / 4); ++i) {
        Stamp* const mine = make_stamped(self, i, random.length());
        Stamp* const other = slots[random.below(64)].exchange(mine, std::memory_order_acq_rel);
        if (other == nullptr) continue;
        const size_t length = other->length;
        auto* const moved = static_cast<Stamp*>(snug_realloc(other, length + random.below(2 * length)));
        if (moved == nullptr || moved->length != length || !is_intact(moved)) ++damaged;
        snug_free(moved);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::atomic<Stamp*>& slot : slots) snug_free(slot.load(std::memory_order_acquire));
  EXPECT_EQ(damaged.load(), 0u);
  expect_quiet(before);
}

}  // namespace
}  // namespace snug::stress
