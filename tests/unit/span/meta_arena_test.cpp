// Memory for records, and free lists over it.
#include "span/meta_arena.h"

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <sys/syscall.h>

#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "base/bits.h"
#include "os/memory.h"
#include "os/system_call_hook.h"

namespace snug {
namespace {

TEST(MetaArena, RecordsAreZeroedAlignedAndApart) {
  MetaArena arena;
  uintptr_t end = 0;
  size_t used = 0;
  for (size_t bytes : {1, 63, 64, 65, 1000, 4096}) {
    auto* record = static_cast<unsigned char*>(arena.allocate(bytes));
    ASSERT_NE(record, nullptr);
    EXPECT_TRUE(is_aligned(address_of(record), 64));
    EXPECT_GE(address_of(record), end);
    for (size_t i = 0; i < bytes; ++i) ASSERT_EQ(record[i], 0);
    std::memset(record, 0xff, bytes);
    end = address_of(record) + bytes;
    used += round_up(bytes, 64);
    EXPECT_EQ(arena.bytes_used(), used);
  }
  EXPECT_GE(arena.bytes_mapped(), used);
}

TEST(MetaArena, GoesOnInAnotherMapping) {
  MetaArena arena;
  std::set<void*> seen;
  for (int i = 0; i < 5000; ++i) {
    void* record = arena.allocate(512);
    ASSERT_NE(record, nullptr);
    std::memset(record, 0xff, 512);
    EXPECT_TRUE(seen.insert(record).second);
  }
  EXPECT_GE(arena.bytes_mapped(), size_t{5000} * 512);
}

TEST(MetaArena, RecordsLargerThanAMapping) {
  MetaArena arena;
  constexpr size_t kBytes = (size_t{5} << 20) + 1;
  auto* record = static_cast<char*>(arena.allocate(kBytes));
  ASSERT_NE(record, nullptr);
  record[0] = record[kBytes - 1] = 1;
  EXPECT_GE(arena.bytes_mapped(), kBytes);
}

TEST(MetaArena, ServesThreadsAtOnce) {
  MetaArena arena;
  std::vector<std::vector<int*>> taken(4);
  std::vector<std::thread> threads;
  for (int self = 0; self < 4; ++self)
    threads.emplace_back([&, self] {
      for (int i = 0; i < 2000; ++i) {
        int* record = static_cast<int*>(arena.allocate(sizeof(int)));
        *record = self;
        taken[static_cast<size_t>(self)].push_back(record);
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (int self = 0; self < 4; ++self)
    for (int* record : taken[static_cast<size_t>(self)]) ASSERT_EQ(*record, self);
  EXPECT_EQ(arena.bytes_used(), size_t{4} * 2000 * 64);
}

// The pages beside a mapping are the arena's, and nobody's to write to.
TEST(MetaArenaDeathTest, AGuardedMappingEndsInPagesThatNobodyCanWriteTo) {
  MetaArena arena;
  arena.guard();
  ASSERT_NE(arena.allocate(64), nullptr);
  size_t mappings = 0;
  arena.for_each_mapping([&](uintptr_t first, uintptr_t end) {
    ++mappings;
    const uintptr_t page = os::page_size();
    unsigned char is_resident = 0;
    EXPECT_EQ(::mincore(at<void>(first - page), page, &is_resident), 0) << "the page before is mapped";
    EXPECT_EQ(::mincore(at<void>(end), page, &is_resident), 0) << "the page behind is mapped";
    *at<volatile char>(first) = *at<volatile char>(first);
    *at<volatile char>(end - 1) = 1;
    EXPECT_DEATH(*at<volatile char>(first - 1) = 1, "");
    EXPECT_DEATH(*at<volatile char>(end) = 1, "");
    EXPECT_DEATH(*at<volatile char>(end + page - 1) = 1, "");
  });
  EXPECT_EQ(mappings, 1u);
}

// A table of its own likewise, of a length that is no whole number of OS pages.
TEST(MetaArenaDeathTest, AGuardedTableLiesBetweenPagesThatNobodyCanWriteTo) {
  MetaArena arena;
  arena.guard();
  const size_t page = os::page_size();
  const size_t bytes = 3 * page + 8;
  char* const table = static_cast<char*>(arena.map(bytes));
  ASSERT_NE(table, nullptr);
  *static_cast<volatile char*>(table) = 1;
  *static_cast<volatile char*>(table + bytes - 1) = 1;
  EXPECT_DEATH(*static_cast<volatile char*>(table - 1) = 1, "");
  EXPECT_DEATH(*static_cast<volatile char*>(table + 4 * page) = 1, "");
  arena.release(table, bytes);
  unsigned char is_resident = 0;
  for (const char* gone : {table - page, table, table + 4 * page})
    EXPECT_EQ(::mincore(const_cast<char*>(gone), page, &is_resident), -1) << "all of it is given back";
}

struct Record {
  inline static int alive = 0;
  Record() { ++alive; }
  ~Record() { --alive; }
  uint64_t value = 7;
  uint64_t other = 0;
};

// A thread that allocates may hold locks under which no system call may happen.
TEST(MetaArena, WhoStocksAheadMapsNothingLater) {
  MetaArena arena;
  arena.stock_as_due();
  int maps = 0;
  {
    const unit::SystemCallHook counts(SYS_mmap, [&maps] { return ++maps != 0; });
    for (int i = 0; i < 64; ++i) {
      for (int k = 0; k < 64; ++k) ASSERT_NE(arena.allocate(1024), nullptr);
      const int before = maps;
      arena.stock_as_due();
      maps = before;
    }
  }
  EXPECT_EQ(maps, 0);
}

TEST(MetaArena, ARefusalIsNotAskedForAgain) {
  MetaArena arena;
  int asked = 0;
  {
    const unit::SystemCallHook refuses(SYS_mmap, [&asked] { return ++asked == 0; });
    arena.stock_as_due();
    const int once = asked;
    arena.stock_as_due();
    EXPECT_EQ(asked, once);
  }
  EXPECT_NE(arena.allocate(64), nullptr);
}

TEST(RecordPool, ReusesTheLastRecordFirst) {
  MetaArena arena;
  RecordPool<Record> pool(arena);
  Record* a = pool.make();
  Record* b = pool.make();
  EXPECT_NE(a, b);
  EXPECT_EQ(Record::alive, 2);
  a->value = b->value = a->other = 99;
  const size_t used = arena.bytes_used();
  pool.recycle(b);
  pool.recycle(a);
  EXPECT_EQ(Record::alive, 0);
  EXPECT_EQ(pool.make(), a);
  EXPECT_EQ(a->value, 7u) << "a record begins anew";
  EXPECT_EQ(a->other, 0u);
  EXPECT_EQ(pool.make(), b);
  EXPECT_EQ(arena.bytes_used(), used);
}

TEST(RecordPool, AsksTheArenaForSeveralAtOnce) {
  MetaArena arena;
  RecordPool<Record> pool(arena);
  std::set<Record*> seen;
  for (size_t i = 0; i < 129; ++i) {
    Record* record = pool.make();
    EXPECT_TRUE(is_aligned(address_of(record), 64));
    EXPECT_TRUE(seen.insert(record).second);
    EXPECT_EQ(arena.bytes_used(), i < 64 ? 4096 : 3 * 4096) << "each piece is twice as long as the one before";
  }
}

// A record longer than that is one by itself.
struct LongRecord {
  char bytes[5000] = {};
};

TEST(RecordPool, LongRecordsComeSingly) {
  MetaArena arena;
  RecordPool<LongRecord> pool(arena);
  pool.make();
  EXPECT_EQ(arena.bytes_used(), round_up(sizeof(LongRecord), 64));
}

}  // namespace
}  // namespace snug
