// The store against a model, under random commands: with compaction, without, and with a bound between.
#include "store.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <string>
#include <utility>

namespace {

using cache_server::kNever;
using cache_server::Moment;
using cache_server::Store;
using cache_server::Value;

struct Model {
  std::map<std::string, std::pair<std::string, Moment>> values;

  bool has(const std::string& key, Moment now) {
    const auto found = values.find(key);
    if (found != values.end() && found->second.second != kNever && found->second.second <= now) {
      values.erase(found);
      return false;
    }
    return found != values.end();
  }
};

void expect_equal(Store& store, Model& model, Moment now) {
  for (const auto& [key, value] : std::map(model.values)) {
    const Value* const found = store.get(key, now);
    RC_ASSERT((found != nullptr) == model.has(key, now));
    if (found == nullptr) continue;
    RC_ASSERT(found->text.view() == std::string_view(value.first));
    RC_ASSERT(found->gone_at == value.second);
  }
  RC_ASSERT(store.size() == model.values.size());
}

// Values from nothing to some that have pages of their own.
std::string any_value() {
  const auto size = *rc::gen::weightedOneOf<std::size_t>({{6, rc::gen::inRange<std::size_t>(0, 300)},
                                                          {3, rc::gen::inRange<std::size_t>(300, 5000)},
                                                          {1, rc::gen::inRange<std::size_t>(30000, 70000)}});
  return std::string(size, *rc::gen::inRange('a', 'z'));
}

void run_program(std::size_t not_full) {
  Store store({.not_full = not_full});
  Model model;
  Moment now = 1000;
  const auto steps = *rc::gen::inRange(0, 400);
  for (int step = 0; step < steps; ++step) {
    const std::string key = "key" + std::to_string(*rc::gen::inRange(0, 120));
    switch (*rc::gen::inRange(0, 12)) {
      case 0:
      case 1:
      case 2:
      case 3:
      case 4: {
        const std::string text = any_value();
        const Moment gone_at = *rc::gen::inRange(0, 4) == 0 ? now + *rc::gen::inRange(1, 50) : kNever;
        store.set(key, text, gone_at);
        model.values[key] = {text, gone_at};
        break;
      }
      case 5:
      case 6:
      case 7:
      case 8: {
        const bool had = model.has(key, now);
        RC_ASSERT(store.erase(key, now) == had);
        model.values.erase(key);
        break;
      }
      case 9:
        RC_ASSERT((store.get(key, now) != nullptr) == model.has(key, now));
        break;
      case 10:
        now += *rc::gen::inRange(0, 30);
        store.sweep(now);
        std::erase_if(model.values,
                      [&](const auto& each) { return each.second.second != kNever && each.second.second <= now; });
        RC_ASSERT(store.size() == model.values.size());
        break;
      default:
        if (*rc::gen::inRange(0, 10) == 0) {
          store.clear();
          model.values.clear();
        } else {
          store.compact();
        }
    }
    const char* const broken = store.check();
    RC_ASSERT(broken == nullptr);
  }
  expect_equal(store, model, now);
  if (not_full != SNUG_COMPACT_NEVER) RC_ASSERT(store.stats().bytes_not_full <= store.stats().bytes_bound);
}

RC_GTEST_PROP(Store, IsAMapWithCompaction, ()) { run_program(1); }
RC_GTEST_PROP(Store, IsAMapWithALooserBound, ()) { run_program(4); }
RC_GTEST_PROP(Store, IsAMapWithoutCompaction, ()) { run_program(SNUG_COMPACT_NEVER); }

std::size_t pages_after_deletions(std::size_t not_full) {
  Store store({.not_full = not_full});
  constexpr int kKeys = 20000;
  for (int i = 0; i < kKeys; ++i)
    store.set("key" + std::to_string(i), std::string(static_cast<std::size_t>(100 + i % 400), 'v'));
  unsigned state = 1;
  for (int i = 0; i < kKeys; ++i)
    if ((state = state * 1664525 + 1013904223) >> 16 < 45875) store.erase("key" + std::to_string(i), 1);  // 70%
  EXPECT_LT(store.size(), kKeys * 32u / 100);
  EXPECT_EQ(store.check(), nullptr);
  return store.stats().pages;
}

TEST(Store, TakesLessAfterDeletionsIfItCompacts) {
  const std::size_t without = pages_after_deletions(SNUG_COMPACT_NEVER);
  const std::size_t with = pages_after_deletions(1);
  EXPECT_LT(with * 2, without);
}

// However many are gone, no sweep takes long; and all have been gone through after so many sweeps as there are parts.
TEST(Store, IsSweptAPartAtATime) {
  Store store({});
  constexpr std::size_t kKeys = 100'000;
  constexpr Moment kGone = 1000;
  for (std::size_t i = 0; i < kKeys; ++i) store.set("key" + std::to_string(i), "v", i % 2 == 0 ? kGone : 2 * kGone);
  constexpr std::size_t kParts = 131072 / Store::kSweptAtOnce;
  for (std::size_t part = 0; part < kParts; ++part) {
    if (part == kParts / 2)  // some in parts that have been swept, some in others
      for (int i = 0; i < 20; ++i) store.set("early" + std::to_string(i), "v", kGone);
    const std::size_t before = store.size();
    store.sweep(kGone);
    EXPECT_LT(before - store.size(), Store::kSweptAtOnce) << "not all at once";
    EXPECT_LT(store.size(), before);
  }
  EXPECT_GT(store.size(), kKeys / 2);
  EXPECT_EQ(store.check(), nullptr);
  for (std::size_t part = 0; part < kParts; ++part) store.sweep(kGone);
  EXPECT_EQ(store.size(), kKeys / 2) << "what was set in the middle of a round goes with the next";
  for (std::size_t part = 0; part < kParts; ++part) store.sweep(2 * kGone);
  EXPECT_EQ(store.size(), 0u);
  EXPECT_EQ(store.expiring(), 0u);
}

}  // namespace
