// malloc_test.cc: blocks are distinct, aligned, writable in full, and keep what is written.
#include "pattern.h"
#include "sizes.h"
#include "subject.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <vector>

namespace {

constexpr std::size_t kNaturalAlignment = alignof(std::max_align_t);

struct Block {
  char* address;
  std::size_t size;
};

// All sizes live at once: overlap shows as an address order violated, a shared byte as a pattern destroyed.
void expect_disjoint_and_intact(const std::vector<std::size_t>& all_sizes) {
  std::vector<Block> blocks;
  for (const std::size_t size : all_sizes) {
    auto* address = static_cast<char*>(subject::malloc(size));
    ASSERT_NE(address, nullptr) << size;
    // C23 lets a block too small for an object of the largest alignment be less aligned; jemalloc and mimalloc
    // take the offer, snug.h promises more.
    if (size >= kNaturalAlignment || subject::kind() != subject::Kind::kOther) {
      ASSERT_TRUE(pattern::aligned(address, kNaturalAlignment)) << size;
    }
    pattern::fill(address, size, blocks.size());
    blocks.push_back({address, size});
  }
  for (std::size_t i = 0; i < blocks.size(); ++i)
    ASSERT_TRUE(pattern::intact(blocks[i].address, blocks[i].size, i)) << blocks[i].size;
  std::vector<Block> by_address = blocks;
  std::sort(by_address.begin(), by_address.end(), [](const Block& a, const Block& b) { return a.address < b.address; });
  for (std::size_t i = 1; i < by_address.size(); ++i) {
    const Block& lower = by_address[i - 1];
    ASSERT_LE(lower.address + std::max<std::size_t>(lower.size, 1), by_address[i].address) << lower.size;
  }
  for (const Block& block : blocks) subject::free(block.address);
}

TEST(Malloc, keeps_blocks_of_every_step_apart) {
  expect_disjoint_and_intact(sizes::every_step(subject::kSanitized ? 8 * sizes::kKiB : 64 * sizes::kKiB));
}

TEST(Malloc, keeps_blocks_around_powers_of_two_apart) {
  expect_disjoint_and_intact(sizes::around_powers(subject::kSanitized ? sizes::kMiB : 8 * sizes::kMiB));
}

TEST(Malloc, keeps_many_blocks_of_one_size_apart) {
  for (const std::size_t size : {1, 16, 48, 200, 1000, 5000, 40000})
    expect_disjoint_and_intact(
        std::vector<std::size_t>(std::max<std::size_t>(20'000'000 / size / 16, 8) % 8000 + 8, size));
}

TEST(Malloc, of_zero_is_unique_and_freeable) {
  std::set<void*> blocks;
  for (int i = 0; i < 1000; ++i) {
    void* block = subject::malloc(0);
    ASSERT_NE(block, nullptr);
    ASSERT_TRUE(blocks.insert(block).second) << "handed out twice";
  }
  for (void* block : blocks) subject::free(block);
}

TEST(Malloc, serves_several_hundred_mebibytes) {
  constexpr std::size_t kSize = 300 * sizes::kMiB;
  auto* block = static_cast<char*>(subject::malloc(kSize));
  ASSERT_NE(block, nullptr);
  for (std::size_t at = 0; at < kSize; at += 16 * sizes::kMiB) block[at] = 1;
  block[kSize - 1] = 2;
  for (std::size_t at = 0; at < kSize; at += 16 * sizes::kMiB) ASSERT_EQ(block[at], 1);
  subject::free(block);
}

TEST(Malloc, survives_a_random_life) {
  pattern::Random random(1);
  std::vector<Block> live(500, Block{nullptr, 0});
  const int rounds = subject::kSanitized ? 20'000 : 200'000;
  for (int round = 0; round < rounds; ++round) {
    const std::size_t at = random.below(live.size());
    Block& block = live[at];
    if (block.address != nullptr) {
      ASSERT_TRUE(pattern::intact(block.address, block.size, at)) << "size " << block.size << " round " << round;
      subject::free(block.address);
      block.address = nullptr;
    } else {
      block.size = random.size(round % 64 == 0 ? 20 : 12);
      block.address = static_cast<char*>(subject::malloc(block.size));
      ASSERT_NE(block.address, nullptr) << block.size;
      pattern::fill(block.address, block.size, at);
    }
  }
  for (const Block& block : live) subject::free(block.address);
}

TEST(Malloc, recycles_what_was_freed) {
  // 100 rounds of 4 MiB: an allocator that loses freed blocks would grow by 400 MiB.
  SUBJECT_MUST_BE_SNUG();
  std::vector<void*> blocks(4 * sizes::kMiB / 256);
  snug_stats settled{};
  for (int round = 0; round < 100; ++round) {
    for (void*& block : blocks) block = subject::malloc(256);
    for (void* block : blocks) subject::free(block);
    if (round == 4) {
      ASSERT_TRUE(subject::take_stats(settled));
    }
  }
  snug_stats now{};
  ASSERT_TRUE(subject::take_stats(now));
  EXPECT_LE(now.bytes_in_slabs + now.bytes_retained, settled.bytes_in_slabs + settled.bytes_retained + 8 * sizes::kMiB);
}

TEST(Free, ignores_null) { subject::free(nullptr); }

}  // namespace
