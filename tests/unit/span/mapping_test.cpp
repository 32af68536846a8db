// Memory with room to grow: how much of it the OS counts as promised, in how many calls it grows, and what is left when
// the OS refuses or another thread comes between.
#include "span/mapping.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "base/bits.h"
#include "os/memory.h"
#include "os/system_call_hook.h"
#include "span/own_large.h"

namespace snug::unit {
namespace {

// Bytes, of the process.
size_t status(const char* name) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);)
    if (line.rfind(name, 0) == 0) return std::strtoul(line.c_str() + std::strlen(name) + 1, nullptr, 10) * kKiB;
  return 0;
}

// Of the OS, that lie in the range in part or whole.
size_t mappings_in(uintptr_t start, size_t bytes) {
  std::ifstream maps("/proc/self/maps");
  size_t count = 0;
  for (std::string line; std::getline(maps, line);) {
    uintptr_t first = 0, last = 0;
    if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR, &first, &last) == 2 && first < start + bytes &&
        start < last)
      ++count;
  }
  return count;
}

class MappingTest : public testing::Test {
 protected:
  ~MappingTest() override {
    if (mapping.start != 0) os::release(at<void>(mapping.start), mapping.mapped);
  }
  char* memory() { return at<char>(mapping.start); }
  // By one step, to which a word in each OS page is written.
  bool grow(size_t bytes) {
    if (!mapping.reaches(bytes)) mapping.grow(bytes, true);
    if (mapping.writable < bytes) return false;
    for (; length < bytes; length += os::page_size()) std::memcpy(memory() + length, &length, sizeof length);
    return true;
  }
  bool is_whole() { return is_stamped(memory(), length); }
  void begin(size_t bytes) {
    ASSERT_TRUE(mapping.make_to_grow(bytes));
    ASSERT_TRUE(grow(bytes));
  }

  Mapping mapping;
  size_t length = 0;
};

TEST_F(MappingTest, PromisesLittleMoreThanIsAskedFor) {
  const size_t before = status("VmData:");
  ASSERT_TRUE(mapping.make_to_grow(300 * kKiB));
  for (size_t bytes = kMiB; bytes <= 512 * kMiB; bytes += kMiB) {
    if (!mapping.reaches(bytes)) mapping.grow(bytes, true);
    ASSERT_GE(mapping.writable, bytes);
    ASSERT_LE(mapping.writable, bytes + std::max(bytes / 8, 2 * kMiB));
  }
  EXPECT_LE(status("VmData:") - before, 512 * kMiB * 9 / 8);
}

// Steps of a length each, and steps by half of what is there.
TEST_F(MappingTest, GrowsInFewCalls) {
  const auto count = [](long number, auto longer) {
    Mapping grown;
    size_t calls = 0;
    {
      const SystemCallHook counting(number, [&] { return ++calls != 0; });
      if (!grown.make_to_grow(300 * kKiB)) ADD_FAILURE() << "refused";
      for (size_t bytes = kMiB; bytes <= 512 * kMiB; bytes = longer(bytes))
        if (!grown.reaches(bytes)) grown.grow(bytes, true);
    }
    os::release(at<void>(grown.start), grown.mapped);
    return calls;
  };
  const auto by_a_mebibyte = [](size_t bytes) { return bytes + kMiB; };
  const auto by_half = [](size_t bytes) { return round_up(bytes + bytes / 2, size_t{4096}); };
  // 15 up to 32 MiB and 46 beyond, and 10 moves to new room, which take two.
  EXPECT_LE(count(SYS_mremap, by_a_mebibyte), 85u);
  EXPECT_LE(count(SYS_munmap, by_a_mebibyte), 85u);
  EXPECT_LE(count(SYS_mmap, by_a_mebibyte), 12u);
  EXPECT_LE(count(SYS_mremap, by_half), 30u);
  EXPECT_LE(count(SYS_munmap, by_half), 30u);
  EXPECT_LE(count(SYS_mmap, by_half), 12u);
}

TEST_F(MappingTest, IsTwoMappingsOfTheOsHoweverOftenItHasMoved) {
  begin(kMiB);
  const uintptr_t first_place = mapping.start;
  for (size_t bytes = 2 * kMiB; bytes <= 80 * kMiB; bytes += 2 * kMiB) {
    ASSERT_TRUE(grow(bytes));
    ASSERT_EQ(mappings_in(mapping.start, mapping.writable), 1u);
    ASSERT_LE(mappings_in(mapping.start, mapping.mapped), 2u);
  }
  EXPECT_NE(mapping.start, first_place);
  EXPECT_TRUE(is_whole());
}

TEST_F(MappingTest, RoomCannotBeTouched) {
  begin(8 * kMiB);
  ASSERT_GT(mapping.mapped, mapping.writable);
  EXPECT_DEATH(memory()[mapping.writable] = 1, "");
}

// A huge page that begins within the block can be one: it is memory to its end.
TEST_F(MappingTest, NoHugePageIsCut) {
  ASSERT_TRUE(mapping.make_to_grow(4 * kMiB));
  size_t within_room = 0;
  for (size_t bytes = 4 * kMiB; bytes <= 40 * kMiB; bytes += 60 * kKiB) {
    if (!mapping.reaches(bytes)) mapping.grow(bytes, true);
    const size_t end = round_up(mapping.start + bytes, kChunkSize) - mapping.start;
    if (end > mapping.mapped) continue;
    ++within_room;
    ASSERT_GE(mapping.writable, end);
  }
  EXPECT_GT(within_room, 500u);
}

TEST_F(MappingTest, WhatIsTooMuchForTheOsIsDoneWithoutMemoryAhead) {
  begin(8 * kMiB);
  const size_t mapped = mapping.mapped;
  {
    size_t calls = 0;
    const SystemCallHook refusing(SYS_mremap, [&] { return ++calls != 1; });
    EXPECT_TRUE(grow(11 * kMiB));
  }
  EXPECT_EQ(mapping.writable, 11 * kMiB);
  EXPECT_EQ(mapping.mapped, mapped) << "what was opened in vain is room again";
  EXPECT_TRUE(grow(12 * kMiB));
  EXPECT_EQ(mapping.mapped, mapped);
  EXPECT_TRUE(is_whole());
}

TEST_F(MappingTest, WhatIsTooMuchForTheOsMovesWithoutMemoryAhead) {
  begin(8 * kMiB);
  const size_t beyond = mapping.mapped + kMiB;
  {
    size_t calls = 0;
    const SystemCallHook refusing(SYS_mremap, [&] { return ++calls != 1; });
    EXPECT_TRUE(grow(beyond));
  }
  EXPECT_EQ(mapping.writable, beyond);
  EXPECT_GE(mapping.mapped, 2 * beyond) << "addresses may be had all the same";
  EXPECT_TRUE(is_whole());
}

// Another thread maps something where the room has just been opened.
TEST_F(MappingTest, LeavesToOthersWhatTheyHaveTaken) {
  const size_t before = status("VmSize:");
  begin(8 * kMiB);
  const uintptr_t place = mapping.start;
  char* others = nullptr;
  {
    const SystemCallHook meanwhile(SYS_mremap, [&] {
      if (others != nullptr) return true;
      others = static_cast<char*>(::mmap(memory() + mapping.writable, kMiB, PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0));
      if (others == MAP_FAILED) abort();
      *others = 7;
      return true;
    });
    EXPECT_TRUE(grow(11 * kMiB));
  }
  EXPECT_NE(mapping.start, place);
  EXPECT_TRUE(is_whole());
  EXPECT_EQ(*others, 7);
  EXPECT_LE(status("VmSize:") - before, mapping.mapped + 2 * kMiB) << "the rest of the old room has gone";
  EXPECT_TRUE(grow(16 * kMiB));
  EXPECT_EQ(*others, 7);
  ::munmap(others, kMiB);
}

TEST_F(MappingTest, IsNeverDamagedByARefusal) {
  for (const long number : {SYS_mmap, SYS_munmap, SYS_mremap})
    for (const bool for_good : {false, true})
      for (size_t refused = 1; refused <= 12; ++refused) {
        begin(kMiB);
        {
          size_t calls = 0;
          const SystemCallHook refusing(number, [&] { return ++calls < refused || (!for_good && calls > refused); });
          for (size_t bytes = 2 * kMiB; bytes <= 24 * kMiB; bytes += kMiB) {
            const size_t had = length;
            if (!grow(bytes)) {
              ASSERT_EQ(length, had);
            }
            ASSERT_LE(length, mapping.writable);
            ASSERT_LE(mapping.writable, mapping.mapped);
            ASSERT_EQ(mappings_in(mapping.start, mapping.writable), 1u);
          }
        }
        ASSERT_TRUE(is_whole()) << "call " << number << ", time " << refused;
        ASSERT_TRUE(grow(26 * kMiB)) << "the OS has relented";
        ASSERT_TRUE(is_whole());
        ASSERT_TRUE(os::release(memory(), mapping.mapped));
        mapping = {};
        length = 0;
      }
}

// A sanitizer would be refused memory of its own, or have its own locked.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

// As under strict overcommit: the last of what may be promised goes to blocks, none of it to memory ahead or room.
TEST_F(MappingTest, GrowsUpToALimitOfMemory) {
  const auto live = [this] {
    begin(kMiB);
    const rlimit limit{status("VmData:") + 50 * kMiB, RLIM_INFINITY};
    if (setrlimit(RLIMIT_DATA, &limit) != 0) _exit(1);
    size_t bytes = kMiB;
    while (grow(bytes + 512 * kKiB)) bytes += 512 * kKiB;
    if (bytes < 49 * kMiB || bytes > 56 * kMiB) _exit(2);
    if (!is_whole() || length != bytes) _exit(3);
    if (mappings_in(mapping.start, mapping.writable) != 1) _exit(4);
    _exit(0);
  };
  EXPECT_EXIT(live(), testing::ExitedWithCode(0), "");
}

TEST_F(MappingTest, LocksNoRoom) {
  const auto live = [this] {
    if (mlockall(MCL_FUTURE) != 0) _exit(0);
    const size_t before = status("VmRSS:");
    begin(kMiB);
    while (grow(length + kMiB) && length < 64 * kMiB) {
    }
    _exit(length == 64 * kMiB && is_whole() && status("VmRSS:") - before < 64 * kMiB * 6 / 5 ? 0 : 1);
  };
  EXPECT_EXIT(live(), testing::ExitedWithCode(0), "");
}

#endif

}  // namespace
}  // namespace snug::unit
