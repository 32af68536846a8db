// HeapSlabRecords and HeapSlabStock: records that a heap leaves serve the next, and none serves two slabs.
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <random>
#include <vector>

#include "heap/slab_records.h"

namespace snug {
namespace {

constexpr size_t kWords[] = {1, 2, 9, 16};

struct Taken {
  HeapSlab* record;
  size_t words;
};

TEST(HeapSlabStockTest, NoRecordServesTwoSlabs) {
  MetaArena arena;
  HeapSlabRecords shared(arena);
  std::deque<HeapSlabStock> stocks(5, HeapSlabStock(shared));
  std::map<size_t, std::vector<Taken>> taken;  // by stock
  std::map<HeapSlab*, size_t> bytes_of;
  std::mt19937 random(7);
  for (int round = 0; round < 60000; ++round) {
    const size_t number = random() % stocks.size();
    std::vector<Taken>& its = taken[number];
    // Each grows and shrinks for a while, and then ends with all that it has.
    if (random() % 2000 == 0) {
      for (const Taken& one : its) {
        bytes_of.erase(one.record);
        stocks[number].recycle(*one.record, one.words);
      }
      its.clear();
      stocks[number].give_all();
    } else if (random() % 3 != 0 || its.empty()) {
      const size_t words = kWords[random() % std::size(kWords)];
      HeapSlab* const record = stocks[number].make(words);
      ASSERT_NE(record, nullptr);
      ASSERT_EQ(record->heap, nullptr);
      const auto next = bytes_of.lower_bound(record);
      if (next != bytes_of.end()) {
        ASSERT_LE(address_of(record) + HeapSlab::record_bytes(words), address_of(next->first));
      }
      if (next != bytes_of.begin()) {
        const auto before = std::prev(next);
        ASSERT_LE(address_of(before->first) + before->second, address_of(record));
      }
      bytes_of[record] = HeapSlab::record_bytes(words);
      record->heap = reinterpret_cast<UserHeap*>(&stocks[number]);
      its.push_back({record, words});
    } else {
      const size_t chosen = random() % its.size();
      bytes_of.erase(its[chosen].record);
      stocks[number].recycle(*its[chosen].record, its[chosen].words);
      its[chosen] = its.back();
      its.pop_back();
    }
    ASSERT_EQ(stocks[number].check(), nullptr);
    ASSERT_EQ(round % 100 == 0 ? shared.check() : nullptr, nullptr);
  }
}

TEST(HeapSlabStockTest, WhatOneLeavesServesAnother) {
  MetaArena arena;
  HeapSlabRecords shared(arena);
  size_t after_first = 0;
  for (int life = 0; life < 20; ++life) {
    HeapSlabStock stock(shared);
    std::vector<HeapSlab*> records(1000);
    for (HeapSlab*& record : records) record = stock.make(1);
    for (HeapSlab* record : records) stock.recycle(*record, 1);
    stock.give_all();
    if (life == 0) after_first = arena.bytes_used();
  }
  EXPECT_EQ(arena.bytes_used(), after_first);
}

// Of a heap that has shrunk few are kept: others have the rest.
TEST(HeapSlabStockTest, KeepsLessThanTwoBundles) {
  MetaArena arena;
  HeapSlabRecords shared(arena);
  HeapSlabStock stock(shared);
  std::vector<HeapSlab*> records(1000);
  for (HeapSlab*& record : records) record = stock.make(1);
  for (HeapSlab* record : records) stock.recycle(*record, 1);
  size_t in_bundles = 0;
  const size_t before = arena.bytes_used();
  HeapSlabStock other(shared);
  while (arena.bytes_used() == before && other.make(1) != nullptr) ++in_bundles;
  EXPECT_GT(in_bundles, records.size() - 2 * HeapSlabRecords::kBundle);
}

}  // namespace
}  // namespace snug
