// Memory that is refused while blocks are on their way: whichever request it is, nothing is lost, the heap is sound
// after each operation, and serves again when there is memory.
#include <algorithm>
#include <functional>

#include "scarce_heap.h"
#include "scarce_memory.h"

namespace snug {
namespace {

using unit::Refusal;
using unit::ScarceHeap;
using unit::ScarceRecords;
using unit::SystemCallHook;

constexpr size_t kBytes = 1024;
constexpr size_t kBlocks = 16;  // of them in a page

struct Refused {
  size_t requests = 0;
  size_t operations = 0;
  size_t while_moving = 0;  // of the operations, those after which the move went on
};

// What is done to a heap while a block is on its way, and how often that was refused.
class MidMove {
 public:
  explicit MidMove(ScarceHeap& of) : heap(of) { heap.set_bound(CompactFit::kNever); }

  // Pages of which so many blocks are in use, in the heaps of so many cores. Returns their blocks.
  std::vector<std::vector<HandleWord>> lay_out(const std::vector<size_t>& used, size_t heaps = 1) {
    std::vector<std::vector<HandleWord>> pages;
    for (size_t core = 0; core < heaps; ++core) {
      ScarceHeap::core_now = core;
      std::vector<HandleWord> all;
      for (size_t i = 0; i < used.size() * kBlocks; ++i) all.push_back(heap.allocate(kBytes));
      for (size_t page = 0; page < used.size(); ++page) {
        const auto first = all.begin() + static_cast<ptrdiff_t>(page * kBlocks);
        pages.emplace_back(first, first + static_cast<ptrdiff_t>(used[page]));
        std::for_each(first + static_cast<ptrdiff_t>(used[page]), first + kBlocks,
                      [this](HandleWord handle) { heap.free(handle); });
      }
    }
    heap.expect_sound();
    return pages;
  }
  // Then the move, if it still is one, goes on by a part.
  void do_while_moving(const std::function<bool(HandleWord)>& use) {
    const HandleWord moving = heap.begin_move();
    ASSERT_NE(moving, 0u) << "nothing is left to move";
    ScarceHeap::core_now = done_++ % ScarceHeap::kCores;
    const bool is_served = use(moving);
    refused.operations += is_served ? 0 : 1;
    refused.while_moving += !is_served && heap.moving() != 0 ? 1 : 0;
    heap.expect_sound();
    heap.step(ScarceHeap::kIncrement);
    heap.expect_sound();
  }
  void finish() {
    while (heap.step(2 * kBytes + kBytes / 2)) heap.expect_sound();
    heap.set_bound(1);
    heap.expect_sound();
    heap.expect_bound_of(kBytes);
  }

  ScarceHeap& heap;
  Refused refused;

 private:
  size_t done_ = 0;
};

// ---- what is done. Each prepares its heap, calls `memory_ends`, and goes on.

using MemoryEnds = std::function<void()>;

// Whatever may ask for memory.
void ask_for_everything(MidMove& program, const MemoryEnds& memory_ends) {
  ScarceHeap& heap = program.heap;
  program.lay_out({16, 14, 12, 10, 8, 6}, heap.heaps());
  memory_ends();
  const auto allocate = [&](size_t bytes) {
    program.do_while_moving([&, bytes](HandleWord) { return heap.allocate(bytes) != 0; });
  };
  const auto resize_other = [&](size_t bytes) {
    program.do_while_moving(
        [&, bytes](HandleWord moving) { return heap.resize(heap.other_than(moving, kBytes), bytes); });
  };
  allocate(300);
  resize_other(2000);
  allocate(20000);
  program.do_while_moving([&](HandleWord) { return heap.allocate_kind() != 0; });
  allocate(40000);
  resize_other(40000);
  program.do_while_moving([&](HandleWord) { return heap.set_bound_of(5000, 2); });
  if (heap.is_shared()) program.do_while_moving([&](HandleWord) { return heap.open_reader() != nullptr; });
  // What calls the move off.
  program.do_while_moving([&](HandleWord moving) { return heap.resize(moving, 400); });
  program.do_while_moving([&](HandleWord moving) { return heap.resize(moving, 50000); });
  program.do_while_moving([&](HandleWord moving) {
    heap.free(moving);
    return heap.allocate(700) != 0;
  });
  program.do_while_moving([&](HandleWord moving) {
    heap.pin(moving);
    const bool is_served = heap.resize(heap.other_than(moving, kBytes), 600);
    heap.unpin(moving);
    return is_served;
  });
  program.finish();
}

// The page that a block moves to becomes the emptiest, so that blocks move out of it.
void turn_the_target(MidMove& program, const MemoryEnds& memory_ends) {
  ScarceHeap& heap = program.heap;
  const auto pages = program.lay_out({15, 8, 8, 5});
  auto target = pages[0];
  memory_ends();
  program.do_while_moving([&](HandleWord) {
    for (; target.size() > 1; target.pop_back()) {
      heap.free(target.back());
      heap.expect_sound();
    }
    return heap.allocate(900) != 0;
  });
  const char* const before = heap.place(target[0]);
  program.do_while_moving([&](HandleWord) { return heap.resize(pages[1][0], 2000); });
  program.do_while_moving([&](HandleWord) { return heap.allocate_kind() != 0; });
  while (heap.step(ScarceHeap::kIncrement)) heap.expect_sound();
  EXPECT_NE(heap.place(target[0]), before) << "it was to move from the page that others had moved to";
  program.finish();
}

// All places are taken but the one that a block moves to: that is had without any memory.
void fill_the_target(MidMove& program, const MemoryEnds& memory_ends) {
  ScarceHeap& heap = program.heap;
  program.lay_out({15, 3});
  memory_ends();
  program.do_while_moving([&](HandleWord moving) {
    const size_t pages = heap.totals().pages;
    for (size_t i = 0; i < kBlocks - 3; ++i) EXPECT_NE(heap.allocate(kBytes), 0u);
    EXPECT_EQ(heap.moving(), moving);
    EXPECT_NE(heap.allocate(kBytes), 0u);
    EXPECT_EQ(heap.moving(), 0u);
    EXPECT_EQ(heap.totals().pages, pages);
    heap.expect_sound();
    return heap.allocate(kBytes) != 0;
  });
  program.finish();
}

// ---- when memory ends

// There is memory again, or what blocks had: for one at least of any size.
void expect_service(ScarceHeap& heap) {
  for (const HandleWord handle : heap.handles()) {
    heap.free(handle);
    heap.expect_sound();
  }
  EXPECT_EQ(heap.totals().pages, 0u);
  EXPECT_EQ(heap.totals().bytes_blocks, 0u);
  for (const size_t bytes : {size_t{300}, kBytes, size_t{2000}, size_t{4000}}) {
    const HandleWord handle = heap.allocate(bytes);
    EXPECT_NE(handle, 0u);
    if (handle != 0) heap.free(handle);
  }
  EXPECT_NE(heap.allocate_kind(), 0u);
}

struct RefusedCase {
  Sharing sharing;
  const char* name;
  void (*run)(MidMove& program, const MemoryEnds& memory_ends);
  size_t pages;  // that it lays out
  bool goes_on;  // its moves, while it is refused memory
};

class RefusedMemoryTest : public testing::TestWithParam<RefusedCase> {
 protected:
  ~RefusedMemoryTest() override {
    ScarceRecords::refuse_none();
    EXPECT_EQ(ScarceRecords::live(), 0u) << "no record is left";
  }
  // Until no request was refused.
  static size_t while_moving(const std::function<Refused(size_t)>& run) {
    size_t sum = 0;
    for (size_t number = 0;; ++number) {
      const Refused refused = run(number);
      sum += refused.while_moving;
      if (HasFailure()) ADD_FAILURE() << "memory ended at " << number;
      if (HasFailure() || refused.requests == 0) return sum;
    }
  }
};

TEST_P(RefusedMemoryTest, OfRecords) {
  unit::ScarceStore store;
  for (const Refusal how : {Refusal::kOnce, Refusal::kFromThenOn}) {
    const size_t refused = while_moving([&](size_t number) {
      ScarceHeap heap(GetParam().sharing, store.source());
      MidMove program(heap);
      GetParam().run(program, [&] { ScarceRecords::refuse(number, how); });
      program.refused.requests = ScarceRecords::refused();
      ScarceRecords::refuse_none();
      expect_service(heap);
      store.expect_sound();
      return program.refused;
    });
    // What one core's heap is refused once, another's is not.
    if (how == Refusal::kOnce && GetParam().sharing == Sharing::kCores) continue;
    EXPECT_EQ(refused != 0, GetParam().goes_on);
  }
}

TEST_P(RefusedMemoryTest, OfPages) {
  unit::ScarceStore store;
  const size_t refused = while_moving([&](size_t number) {
    ScarceHeap heap(GetParam().sharing, store.source());
    MidMove program(heap);
    GetParam().run(program, [&] { store.leave(number); });
    program.refused.requests = store.refused();
    store.leave_all();
    expect_service(heap);
    store.expect_sound();
    return program.refused;
  });
  EXPECT_EQ(refused != 0, GetParam().goes_on);
}

TEST_P(RefusedMemoryTest, OfARegion) {
  if (GetParam().sharing == Sharing::kCores) GTEST_SKIP() << "heaps of cores lie in no region";
  constexpr size_t kOthers = 2;  // one of the source's tables, one of records
  const size_t refused = while_moving([&](size_t number) {
    const unit::ScarceRegion region(GetParam().pages + kOthers + number);
    ScarceHeap heap(GetParam().sharing, region.source(), 1000);
    MidMove program(heap);
    GetParam().run(program, [] {});
    program.refused.requests = program.refused.operations;
    expect_service(heap);
    return program.refused;
  });
  EXPECT_EQ(refused != 0, GetParam().goes_on);
}

constexpr Sharing kSharings[] = {Sharing::kOneThread, Sharing::kHeap, Sharing::kClasses, Sharing::kCores};

std::vector<RefusedCase> all_cases() {
  std::vector<RefusedCase> cases;
  for (const Sharing sharing : kSharings) {
    cases.push_back({sharing, "Everything", ask_for_everything, 6, true});
    cases.push_back({sharing, "TargetTurns", turn_the_target, 4, true});
    cases.push_back({sharing, "TargetFills", fill_the_target, 2, false});
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, RefusedMemoryTest, testing::ValuesIn(all_cases()),
                         [](const auto& tested) { return unit::name_of(tested.param.sharing) + tested.param.name; });

class RefusedByTheOSTest : public testing::TestWithParam<Sharing> {
 protected:
  unit::ScarceStore store;
  ScarceHeap heap{GetParam(), store.source()};
  MidMove program{heap};
};

// Blocks beyond a chunk have one.
TEST_P(RefusedByTheOSTest, AMapping) {
  constexpr size_t kMapped = size_t{3} << 20;
  program.lay_out({16, 14, 12, 10, 8, 6}, heap.heaps());
  const auto resize = [&](HandleWord moving) { return heap.resize(moving, kMapped); };
  {
    const SystemCallHook refuses(SYS_mmap, [] { return false; });
    program.do_while_moving([&](HandleWord) { return heap.allocate(kMapped) != 0; });
    program.do_while_moving([&](HandleWord moving) { return resize(heap.other_than(moving, kBytes)); });
    program.do_while_moving(resize);
  }
  EXPECT_EQ(program.refused.operations, 3u);
  EXPECT_EQ(program.refused.while_moving, 2u);
  program.do_while_moving(resize);
  EXPECT_EQ(program.refused.operations, 3u);
  program.finish();
  expect_service(heap);
}

// The block gets the place that the move was to end in, and no handle.
TEST_P(RefusedByTheOSTest, MoreHandles) {
  if (GetParam() == Sharing::kCores) GTEST_SKIP() << "a core's table is all there from the start";
  constexpr size_t kHoles = kBlocks - 3;
  program.lay_out({15, 3});
  heap.fill(HandleTable::kStep - 1 - heap.totals().blocks - kHoles, 16);
  program.do_while_moving([&](HandleWord moving) {
    EXPECT_EQ(heap.fill(kHoles, kBytes).size(), kHoles);
    const SystemCallHook refuses(SYS_mprotect, [] { return false; });
    EXPECT_EQ(heap.allocate(16), 0u);
    EXPECT_EQ(heap.moving(), moving);
    EXPECT_EQ(heap.allocate(kBytes), 0u);
    EXPECT_EQ(heap.moving(), 0u) << "its place was wanted";
    return true;
  });
  EXPECT_NE(heap.allocate(kBytes), 0u);
  EXPECT_NE(heap.allocate(16), 0u);
  program.finish();
}

INSTANTIATE_TEST_SUITE_P(All, RefusedByTheOSTest, testing::ValuesIn(kSharings),
                         [](const auto& tested) { return unit::name_of(tested.param); });

}  // namespace
}  // namespace snug
