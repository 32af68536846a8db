// Random operations on a compacting heap, beside a model that knows of each block what it holds, and whether it may
// move. After each operation the heap is sound, within its bound, and its bytes add up.
#include <map>
#include <random>

#include "compact_heap_fixture.h"

namespace snug {
namespace {

struct ModelBlock {
  size_t bytes = 0;
  size_t alignment = 0;
  uint32_t content = 0;
  uint32_t pins = 0;
  void* pinned_at = nullptr;
};

class CompactProgram {
 public:
  CompactProgram(uint32_t seed, CompactOptions options, size_t region_bytes)
      : heap_(options, region_bytes), random_(seed), may_be_refused_(region_bytes != 0) {}

  // Grows and shrinks in turns.
  void step(size_t number) {
    const auto choice = static_cast<uint32_t>(random_() % 1000);
    if (choice < (number / 2000 % 2 == 0 ? 500 : 350) || live_.empty())
      allocate();
    else if (choice < 800)
      free();
    else if (choice < 870)
      resize();
    else if (choice < 910)
      pin();
    else if (choice < 940)
      unpin();
    else if (choice < 970)
      compact();
    else
      change_settings();
    compare();
  }
  void free_all() {
    while (!live_.empty()) free();
    compare();
    EXPECT_EQ(heap_.stats().pages, 0u);
    for (const snug_handle handle : dead_) ASSERT_EQ(snug_compact_try_deref(heap_, handle), nullptr);
  }
  uint64_t moves() const { return heap_.stats().moves; }

 private:
  using Live = std::map<snug_handle, ModelBlock>;

  size_t random_size() {
    switch (random_() % 16) {
      case 0:
        return random_() % 40000;
      case 1:
        return random_() % 40 == 0 ? random_() % 5'000'000 : random_() % 4000;
      case 2:
        return random_() % 20;
      default:
        return 200 + random_() % 60;  // so many of few classes that there is something to compact
    }
  }
  Live::iterator any() { return std::next(live_.begin(), static_cast<ptrdiff_t>(random_() % live_.size())); }

  void write(void* at, const ModelBlock& block) {
    auto* const bytes = static_cast<unsigned char*>(at);
    for (size_t i = 0; i < block.bytes; ++i) bytes[i] = static_cast<unsigned char>(block.content + i * 7);
  }
  void expect_content(snug_handle handle, const ModelBlock& block, size_t bytes) {
    const auto* const at = static_cast<unsigned char*>(snug_compact_deref(heap_, handle));
    for (size_t i = 0; i < bytes; ++i) ASSERT_EQ(at[i], static_cast<unsigned char>(block.content + i * 7)) << i;
    if (block.pins != 0) {
      ASSERT_EQ(at, block.pinned_at);
    }
    if (block.alignment != 0) {
      ASSERT_EQ(reinterpret_cast<uintptr_t>(at) % block.alignment, 0u);
    }
  }

  void allocate() {
    ModelBlock block{random_size(), random_() % 6 == 0 ? size_t{1} << random_() % 15 : 0,
                     static_cast<uint32_t>(random_()), 0, nullptr};
    const snug_handle handle = snug_compact_alloc(heap_, block.bytes, block.alignment);
    if (handle == 0) {
      ASSERT_TRUE(may_be_refused_);
      return;
    }
    ASSERT_FALSE(live_.contains(handle));
    ASSERT_GE(snug_compact_usable_size(heap_, handle), block.bytes);
    write(snug_compact_deref(heap_, handle), block);
    live_[handle] = block;
  }
  void free() {
    const auto found = any();
    expect_content(found->first, found->second, found->second.bytes);
    for (; found->second.pins != 0; --found->second.pins) snug_compact_unpin(heap_, found->first);
    snug_compact_free(heap_, found->first);
    dead_.push_back(found->first);
    live_.erase(found);
  }
  void resize() {
    auto& [handle, block] = *any();
    const size_t bytes = random_() % 2 == 0 ? random_size() : block.bytes / 2 + 1;
    if (snug_compact_resize(heap_, handle, bytes, block.alignment) != 0) {
      ASSERT_TRUE(may_be_refused_ || block.pins != 0);
      expect_content(handle, block, block.bytes);
      return;
    }
    expect_content(handle, block, std::min(bytes, block.bytes));
    block.bytes = bytes;
    write(snug_compact_deref(heap_, handle), block);
  }
  void pin() {
    auto& [handle, block] = *any();
    if (block.pins == 3) return;
    block.pinned_at = snug_compact_pin(heap_, handle);
    ++block.pins;
  }
  void unpin() {
    auto& [handle, block] = *any();
    if (block.pins == 0) return;
    snug_compact_unpin(heap_, handle);
    --block.pins;
  }
  void compact() {
    const snug_compact_budget budget{0, 1 + random_() % 4 * 1000};
    snug_compact_step(heap_, &budget);
  }
  void change_settings() {
    if (random_() % 2 == 0) snug_compact_set_increment(heap_, 1 + random_() % 3000);
    if (random_() % 4 == 0) snug_compact_set_not_full(heap_, 1 + random_() % 4);
    if (random_() % 4 == 0) snug_compact_set_not_full_of(heap_, random_size(), 1 + random_() % 4);
  }

  void compare() {
    heap_.expect_sound();
    const snug_compact_stats stats = heap_.stats();
    ASSERT_EQ(stats.blocks, live_.size());
    ASSERT_LE(stats.bytes_not_full, stats.bytes_bound);
    ASSERT_LE(stats.bytes_blocks + stats.bytes_not_full + stats.bytes_tails, stats.pages * 16384);
    if (stats.bytes_large == 0) {
      ASSERT_EQ(stats.bytes_blocks + stats.bytes_not_full + stats.bytes_tails, stats.pages * 16384);
    }
  }

  CompactHeapFixture heap_;
  std::mt19937 random_;
  const bool may_be_refused_;
  Live live_;
  std::vector<snug_handle> dead_;
};

struct ProgramCase {
  const char* name;
  CompactOptions options;
  size_t region_bytes;
  bool moves;
};

class CompactProgramTest : public testing::TestWithParam<ProgramCase> {};

TEST_P(CompactProgramTest, AnyOrderOfOperationsLeavesItSound) {
  const auto& [name, options, region_bytes, moves] = GetParam();
  uint64_t moved = 0;
  for (uint32_t seed = 1; seed <= 6; ++seed) {
    CompactProgram program(seed, options, region_bytes);
    for (size_t i = 0; i < 4000 && !testing::Test::HasFatalFailure(); ++i) program.step(i);
    moved += program.moves();
    program.free_all();
    if (testing::Test::HasFailure()) FAIL() << "seed " << seed;
  }
  EXPECT_EQ(moved != 0, moves);
}

INSTANTIATE_TEST_SUITE_P(
    All, CompactProgramTest,
    testing::Values(ProgramCase{"Full", {}, 0, true},
                    ProgramCase{"Partial", {.not_full = 3, .increment = 100}, 0, true},
                    ProgramCase{"Cf16", {.map = SNUG_COMPACT_CF16}, 0, true},
                    ProgramCase{"Cf32", {.not_full = 2, .map = SNUG_COMPACT_CF32}, 0, true},
                    ProgramCase{"OneLock", {.sharing = SNUG_COMPACT_ONE_LOCK}, 0, true},
                    ProgramCase{
                        "ClassLocks", {.not_full = 2, .increment = 100, .sharing = SNUG_COMPACT_CLASS_LOCKS}, 0, true},
                    ProgramCase{"ClassLocksInRegion", {.sharing = SNUG_COMPACT_CLASS_LOCKS}, size_t{16} << 20, true},
                    ProgramCase{"Region", {}, size_t{16} << 20, true},
                    ProgramCase{"SmallRegion", {.handles = 500}, size_t{1} << 20, true}),
    [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace snug
