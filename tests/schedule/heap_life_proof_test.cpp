// How heaps change hands, as it ships: a thread ends, another begins with its heap or adopts its slabs, others free
// into it and trim it meanwhile, by every order of their steps; or several threads share a heap. No block is lost, none
// comes home twice, a slab has one heap; and in a heap without a thread nothing stays behind.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "proof.h"
#include "small_heaps.h"

namespace snug::schedule {
namespace {

// Heap 1 has the slab; another thread has the slab's first block. Heaps 2 and 3 have no slab.
template <int kHeaps, Plant kPlant = Plant::kNone>
struct Heaps : SmallHeaps<kPlant, 1> {
  using Heap = typename SmallHeaps<kPlant, 1>::Heap;

  Heap* first = &this->begin();
  Heap* second = kHeaps < 2 ? nullptr : &this->begin();
  Heap* third = kHeaps < 3 ? nullptr : &this->begin();

  Heaps() {
    this->place(0, *first, 1);
    const typename Heap::Hold hold(*first);  // its thread has come by, and is expected
  }
};

// Heap 1's thread has ended before.
template <class State>
struct Ended : State {
  Ended() { this->end(*this->first); }
};

// Two threads share heap 1, which has the slab.
template <Plant kPlant = Plant::kNone>
struct Shared : SmallHeaps<kPlant, 1> {
  using Heap = typename SmallHeaps<kPlant, 1>::Heap;

  Heap* first = nullptr;
  Heap* second = nullptr;

  Shared() {
    this->share();
    first = &this->begin();
    second = &this->begin();
    require(first == second, "both have one heap");
    this->place(0, *first, 1);
    const typename Heap::Hold hold(*first);
  }
};

template <class State>
const Body<State> kEnd = [](State& state) { state.end(*state.first); };
template <class State>
const Body<State> kFree = [](State& state) { state.free_without_heap(0); };
// The third heap's thread frees the block.
template <class State>
const Body<State> kSend = [](State& state) { state.free(*state.third, 0); };
template <class State>
const Body<State> kTrim = [](State& state) { state.trim(); };
// A thread that has a heap and no slab adopts one; and ends.
template <class State>
const Body<State> kAdopt = [](State& state) { state.allocate(*state.second); };
template <class State>
const Body<State> kAdoptAndEnd = [](State& state) {
  state.allocate(*state.second);
  state.end(*state.second);
};
// A thread that begins, with a heap that may be another's that was.
template <class State>
const Body<State> kBegin = [](State& state) { state.allocate(state.begin()); };

template <class State>
const Body<State> kCheck = [](State& state) { state.check(); };

TEST(HeapLifeProof, AThreadEndsWhileAnotherFreesIntoItsHeap) {
  using State = Heaps<1>;
  prove<State>({kEnd<State>, kFree<State>}, 4, kCheck<State>);
}

TEST(HeapLifeProof, AThreadEndsWhileAnotherAdopts) {
  using State = Heaps<2>;
  prove<State>({kEnd<State>, kAdopt<State>}, 4, kCheck<State>);
}

TEST(HeapLifeProof, AThreadEndsWhileAnotherBeginsWithItsHeap) {
  using State = Heaps<1>;
  prove<State>({kEnd<State>, kBegin<State>}, 4, kCheck<State>);
}

TEST(HeapLifeProof, AThreadEndsWhileTwoOthersFreeAndTrim) {
  using State = Heaps<1>;
  prove<State>({kEnd<State>, kTrim<State>, kFree<State>}, 3, kCheck<State>, 2);
}

TEST(HeapLifeProof, ASlabIsAdoptedWhileAnotherFreesIntoIt) {
  using State = Ended<Heaps<2>>;
  prove<State>({kAdopt<State>, kFree<State>}, 4, kCheck<State>, 3);
}

TEST(HeapLifeProof, ASlabIsAdoptedWhileItsMailIsOnItsWay) {
  using State = Ended<Heaps<3>>;
  prove<State>({kAdoptAndEnd<State>, kSend<State>}, 4, kCheck<State>, 3);
}

TEST(HeapLifeProof, ASlabIsAdoptedWhileTwoOthersFreeAndTrim) {
  using State = Ended<Heaps<2>>;
  prove<State>({kAdopt<State>, kTrim<State>, kFree<State>}, 3, kCheck<State>, 1);
}

TEST(HeapLifeProof, AHeapComesAliveAgainWhileAnotherCollectsIt) {
  using State = Ended<Heaps<1>>;
  prove<State>({kBegin<State>, kTrim<State>}, 4, kCheck<State>);
  prove<State>({kBegin<State>, kTrim<State>, kFree<State>}, 3, kCheck<State>, 1);
}

TEST(HeapLifeProof, TwoThreadsBeginAtOnce) {
  using State = Ended<Heaps<1>>;
  prove<State>({kBegin<State>, kBegin<State>, kFree<State>}, 3, kCheck<State>, 1);
}

// -- several threads of one heap -------------------------------------------------------------------------------------

template <class State>
const Body<State> kEndSecond = [](State& state) { state.end(*state.second); };
template <class State>
const Body<State> kBeginAndEnd = [](State& state) {
  auto& heap = state.begin();
  state.allocate(heap);
  state.end(heap);
};
template <class State>
const Body<State> kTake = [](State& state) { state.allocate(*state.first); };
template <class State>
const Body<State> kGive = [](State& state) { state.free(*state.second, 0); };

TEST(HeapLifeProof, ThreadsOfOneHeapTakeAndGive) {
  using State = Shared<>;
  prove<State>({kTake<State>, kGive<State>}, 4, kCheck<State>);
}

TEST(HeapLifeProof, ThreadsOfOneHeapEndAtOnce) {
  using State = Shared<>;
  prove<State>({kEnd<State>, kEndSecond<State>}, 4, kCheck<State>);
  prove<State>({kEnd<State>, kEndSecond<State>, kFree<State>}, 3, kCheck<State>, 1);
}

TEST(HeapLifeProof, AThreadJoinsAHeapWhoseOthersEnd) {
  using State = Shared<>;
  prove<State>({kEnd<State>, kBeginAndEnd<State>}, 4, kCheck<State>);
  prove<State>({kEnd<State>, kEndSecond<State>, kBegin<State>}, 3, kCheck<State>, 1);
}

// -- what is planted -------------------------------------------------------------------------------------------------

template <Plant kPlant>
bool is_seen_where_heaps_end() {
  using State = Ended<Heaps<1, kPlant>>;
  if (is_seen<State>({kTrim<State>, kFree<State>}, 3, kCheck<State>)) return true;
  using Running = Heaps<3, kPlant>;
  return is_seen<Running>({kEnd<Running>, kSend<Running>}, 3, kCheck<Running>);
}
template <Plant kPlant>
bool is_seen_where_slabs_are_adopted() {
  using State = Ended<Heaps<3, kPlant>>;
  return is_seen<State>({kAdoptAndEnd<State>, kSend<State>}, 4, kCheck<State>);
}

template <Plant kPlant>
bool is_seen_where_heaps_are_shared() {
  using State = Shared<kPlant>;
  return is_seen<State>({kEnd<State>, kBegin<State>}, 3, kCheck<State>);
}

TEST(HeapLifeProof, WithoutAPlantThereIsNothingToSee) {
  EXPECT_FALSE(is_seen_where_heaps_are_shared<Plant::kNone>());
  EXPECT_FALSE(is_seen_where_heaps_end<Plant::kNone>());
  EXPECT_FALSE(is_seen_where_slabs_are_adopted<Plant::kNone>());
}

TEST(HeapLifeProof, TheOldFaultOfCollectIsSeen) {
  EXPECT_TRUE(is_seen_where_heaps_end<Plant::kVisitorsDoNotLookAgain>());
  EXPECT_TRUE(is_seen_where_heaps_end<Plant::kVisitorsLookTooEarly>());
}

TEST(HeapLifeProof, WhatElseIsPlantedIsSeen) {
  EXPECT_TRUE(is_seen_where_heaps_are_shared<Plant::kForgetsTheOthers>());
  EXPECT_TRUE(is_seen_where_heaps_end<Plant::kStaysExpected>());
  EXPECT_TRUE(is_seen_where_slabs_are_adopted<Plant::kAdoptsWithoutLock>());
  EXPECT_TRUE(is_seen_where_slabs_are_adopted<Plant::kPassesOnAndLeaves>());
  EXPECT_TRUE(is_seen_where_slabs_are_adopted<Plant::kLooksWhereItWas>());
}

// Of those that it shares with others, each has its own proof.
TEST(HeapLifeProof, NeedsEachOfItsOrders) {
  using State = Heaps<1>;
  const std::vector<Bodies<State>> scenarios = {{kBegin<State>, kTrim<State>}};
  EXPECT_EQ(unnoticed_by_all(scenarios, {MemoryModel::kViews}, kCheck<State>, "heap_table.h"),
            std::vector<std::string>{});
}

}  // namespace
}  // namespace snug::schedule
