// What a process says of its addresses while other threads allocate and free; run beneath ThreadSanitizer too. What it
// says of each kind of address is tests/tools/test_inspect.py's.
#include "allocator/address_description.h"

#include <gtest/gtest.h>
#include <snug/heap.h>
#include <snug/profile.h>
#include <snug/snug.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "allocator/allocator.h"

namespace snug {
namespace {

std::string described(const std::string& words, int* error) {
  char place[8192];
  os::OutputStream out(place, sizeof place);
  *error = describe_address(allocator, Life::kRunning, words.c_str(), out);
  EXPECT_EQ(out.flush(), 0);
  return {place, out.written()};
}

std::string described(const void* address) {
  char words[32];
  std::snprintf(words, sizeof words, "0x%lx", static_cast<unsigned long>(reinterpret_cast<uintptr_t>(address)));
  int error = 0;
  std::string text = described(words, &error);
  EXPECT_EQ(error, 0) << words;
  return text;
}

bool says(const std::string& text, const std::string& member) { return text.find(member) != std::string::npos; }

TEST(AddressDescription, RefusesWhatIsNoAddress) {
  snug_free(snug_malloc(1));
  for (const char* words :
       {"", "0", "0x", "x", "0xg", "0X1", "0x1 ", " 0x1", "-0x1", "0x00000000000000000", "memory"}) {
    int error = 0;
    EXPECT_EQ(described(words, &error), "") << words;
    EXPECT_EQ(error, EINVAL) << words;
  }
  for (const char* words : {"0x0", "0x1", "0xffffffffffffffff", "0x8000000000000000", "0x0000000000000010"}) {
    int error = 0;
    EXPECT_TRUE(says(described(words, &error), "\"what\":\"none\"")) << words;
    EXPECT_EQ(error, 0) << words;
  }
}

TEST(AddressDescription, TellsOfBlocksInARegionOfTheProgram) {
  alignas(SNUG_HEAP_REGION_UNIT) static char region[64 * SNUG_HEAP_REGION_UNIT];
  snug_heap_options options{};
  options.size = sizeof options;
  options.name = "frames";
  options.region = region;
  options.region_bytes = sizeof region;
  snug_heap* const heap = snug_heap_create(&options);
  ASSERT_NE(heap, nullptr);
  for (const size_t size : {size_t{200}, size_t{500'000}}) {
    const std::string text = described(static_cast<char*>(snug_heap_malloc(heap, size)) + 100);
    EXPECT_TRUE(says(text, "\"of\":\"heap\",\"state\":\"live\"")) << text;
    EXPECT_TRUE(says(text, "\"heap_name\":\"frames\"")) << text;
  }
  EXPECT_EQ(snug_heap_destroy(heap), 0);
  EXPECT_FALSE(says(described(region), "\"of\":\"heap\"")) << described(region);
}

TEST(AddressDescription, StaysRightWhileOthersAllocateAndFree) {
  ASSERT_EQ(snug_profile_start(1 << 12), 0);
  std::atomic<bool> is_over{false};
  std::atomic<uintptr_t> newest{0};
  std::atomic<uint64_t> made{0};
  constexpr uint64_t kEnough = 30'000;
  std::vector<void*> live;
  for (size_t size = 16; size < 2'000'000; size += 1 + size / 2) live.push_back(snug_malloc(size));
  snug_heap* const shared_heap = snug_heap_create(nullptr);
  void* const of_heap = snug_heap_malloc(shared_heap, 200);
  const auto work = [&](unsigned seed) {
    std::mt19937 random(seed);
    std::vector<void*> blocks(300);
    for (size_t i = 0; !is_over.load(); i = (i + 1) % blocks.size()) {
      snug_free(blocks[i]);
      const size_t size = random() % 50 == 0 ? 300'000 + random() % 3'000'000 : 16 + random() % 3000;
      blocks[i] = random() % 3 == 0 ? snug_heap_malloc(shared_heap, size) : snug_malloc(size);
      newest.store(reinterpret_cast<uintptr_t>(blocks[i]), std::memory_order_relaxed);
      made.fetch_add(1, std::memory_order_relaxed);
    }
    for (void* block : blocks) snug_free(block);
  };
  std::vector<std::thread> threads;
  for (unsigned seed = 0; seed != 3; ++seed) threads.emplace_back(work, seed);
  while (made.load() < kEnough) {
    for (void* block : live) {
      const std::string text = described(static_cast<char*>(block) + 7);
      EXPECT_TRUE(says(text, "\"what\":\"block\",\"of\":\"malloc\",\"state\":\"live\",\"start\":")) << text;
    }
    EXPECT_TRUE(says(described(of_heap), "\"of\":\"heap\",\"state\":\"live\"")) << described(of_heap);
    described(reinterpret_cast<const void*>(newest.load(std::memory_order_relaxed)));
  }
  is_over.store(true);
  for (std::thread& thread : threads) thread.join();
  for (void* block : live) snug_free(block);
  snug_heap_destroy(shared_heap);
  snug_profile_stop();
  EXPECT_EQ(snug_check(0), nullptr);
}

}  // namespace
}  // namespace snug
