// AddressRanges against a set of single addresses; HeapMemory on this process's own memory, of which the test knows how
// it came.
#include "library/heap_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <set>

namespace snug::tool {
namespace {

constexpr std::uint64_t kMebibyte = 1 << 20;

TEST(AddressRanges, HasWhatASetWouldHave) {
  AddressRanges ranges;
  std::set<std::uint64_t> expected;
  std::uint64_t random = 1;
  for (int i = 0; i < 5000; ++i) {
    random = random * 6364136223846793005 + 1442695040888963407;
    const std::uint64_t begin = (random >> 40) % 64;
    const std::uint64_t end = (random >> 50) % 64;
    const bool adds = (random >> 33) % 2 != 0;
    adds ? ranges.add(begin, end) : ranges.remove(begin, end);
    for (std::uint64_t one = begin; one < end; ++one) adds ? (void)expected.insert(one) : (void)expected.erase(one);
    for (const auto& [from, to] : {std::pair<std::uint64_t, std::uint64_t>{0, 64}, {begin, begin + 9}}) {
      std::set<std::uint64_t> found;
      std::uint64_t before = 0;
      ranges.within(from, to, [&](std::uint64_t first, std::uint64_t last) {
        ASSERT_TRUE(first < last && first >= from && last <= to && (found.empty() || first > before));
        before = last;
        for (; first != last; ++first) found.insert(first);
      });
      ASSERT_EQ(found, (std::set<std::uint64_t>{expected.lower_bound(from), expected.lower_bound(to)}));
    }
  }
}

class HeapMemoryTest : public testing::Test {
 protected:
  // Counted with what this process has mapped by itself.
  std::int64_t heap() {
    const auto resident = resident_memory_of(getpid());
    return static_cast<std::int64_t>(memory_.bytes_among(resident.value().anonymous, false).value());
  }
  // By how much the heap has grown when the work is done, in MiB.
  template <class Work>
  double growth(Work work) {
    const std::int64_t before = heap();
    work();
    return static_cast<double>(heap() - before) / kMebibyte;
  }

  HeapMemory memory_{getpid()};
};

// Beyond the file's end: of this segment the kernel may make one mapping with the heap.
std::array<char, 8 * kMebibyte> unwritten;

void* mapped() {
  void* const memory =
      mmap(nullptr, 8 * kMebibyte, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  std::memset(memory, 1, 8 * kMebibyte);
  return memory;
}

TEST_F(HeapMemoryTest, HasWhatAnAllocatorHasMapped) {
  EXPECT_NEAR(growth([] { mapped(); }), 8, 0.5);
}

TEST_F(HeapMemoryTest, HasNoMappingOfTheProgram) {
  EXPECT_NEAR(growth([&] {
                const auto begin = reinterpret_cast<std::uintptr_t>(mapped());
                memory_.mapped().add(begin, begin + 8 * kMebibyte);
              }),
              0, 0.5);
}

// Of a file that was mapped, written and given up; reservations of addresses are of no file.
TEST_F(HeapMemoryTest, HasNoMappingOfTheProgramThatNobodyMayRead) {
  const int file = memfd_create("given up", 0);
  ASSERT_EQ(ftruncate(file, 8 * kMebibyte), 0);
  EXPECT_NEAR(growth([&] {
                void* const memory = mmap(nullptr, 8 * kMebibyte, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
                std::memset(memory, 1, 8 * kMebibyte);
                mprotect(memory, 8 * kMebibyte, PROT_NONE);
                const auto begin = reinterpret_cast<std::uintptr_t>(memory);
                memory_.mapped().add(begin, begin + 8 * kMebibyte);
              }),
              0, 0.5);
  close(file);
}

TEST_F(HeapMemoryTest, HasNoDataOfAProgram) {
  EXPECT_NEAR(growth([] { std::memset(unwritten.data(), 1, unwritten.size()); }), 0, 0.5);
}

TEST_F(HeapMemoryTest, HasNoMemoryOfAProcessThatIsNotThere) {
  EXPECT_FALSE(resident_memory_of(0).has_value());
  EXPECT_FALSE(HeapMemory(0).bytes_among(kMebibyte, false).has_value());
}

}  // namespace
}  // namespace snug::tool
