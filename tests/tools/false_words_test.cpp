// How often two allocators that are one and the same get a word that tells them apart: made-up measurements of one
// source, with noise of many shapes, judged round by round as `snug run --compare` judges them. The rates are those of
// docs/decisions/0075, which states them; the seeds are fixed, so that a rate is a number and not a matter of luck.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numbers>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "compare/round_order.h"
#include "compare/verdict.h"
#include "print/quantity.h"

namespace snug::tool {
namespace {

// Not std's distributions: their use of a generator differs from library to library.
class Random {
 public:
  explicit Random(std::uint64_t seed) : bits_(seed) {}

  double even() { return (static_cast<double>(bits_() >> 11) + 0.5) * 0x1p-53; }  // in (0, 1)
  double normal() { return std::sqrt(-2 * std::log(even())) * std::cos(2 * std::numbers::pi * even()); }

 private:
  std::mt19937_64 bits_;
};

constexpr int kContenders = 2;

// What a run costs, of a program that takes 1. `when` counts the runs from 0, `place` is that in the round.
struct Shape {
  const char* name;
  double (*cost)(Random& random, int when, int place);
};

double drifting(Random& random, int when, int) { return (1 + 0.03 * when) * std::exp(0.01 * random.normal()); }

const Shape kShapes[] = {
    {"even, 10% wide", [](Random& random, int, int) { return 1 + 0.1 * random.even(); }},
    {"normal, 2%", [](Random& random, int, int) { return std::exp(0.02 * random.normal()); }},
    {"normal, 20%", [](Random& random, int, int) { return std::exp(0.2 * random.normal()); }},
    {"long tail", [](Random& random, int, int) { return 1 + 0.03 * std::pow(random.even(), -0.8); }},
    {"both tails long",
     [](Random& random, int, int) {
       return std::exp(std::clamp(0.02 * std::tan(std::numbers::pi * (random.even() - 0.5)), -3.0, 3.0));
     }},
    {"two speeds",
     [](Random& random, int, int) { return (random.even() < 0.5 ? 1 : 1.15) * std::exp(0.005 * random.normal()); }},
    {"rare and twice as slow",
     [](Random& random, int, int) { return (random.even() < 0.1 ? 2 : 1) * std::exp(0.01 * random.normal()); }},
    {"ticks of a clock",
     [](Random& random, int, int) { return 0.01 * std::max(1.0, std::round(5 + random.normal())); }},
    {"slower and slower", drifting},
    {"the first of a round is slower",
     [](Random& random, int, int place) { return (place == 0 ? 1.1 : 1) * std::exp(0.01 * random.normal()); }},
};

// Both of one source, but that the second costs `factor` times as much.
Word compared(const Shape& shape, int rounds, double factor, std::uint64_t seed) {
  Random random(seed);
  RoundOrder order(kContenders, seed);
  std::map<int, double> costs[kContenders];
  int when = 0;
  for (int round = 1; round <= rounds; ++round) {
    int place = 0;
    for (const std::size_t contender : order.next(round)) {
      costs[contender][round] = shape.cost(random, when, place) * (contender == 1 ? factor : 1);
      ++when;
      ++place;
    }
  }
  return cost_ratio(costs[0], costs[1], kSeconds, Direction::kLowerIsBetter).value_or(CostRatio{}).word;
}

// Of `cases` comparisons, the part that ends in one of these words.
double rate_of(std::set<Word> words, const Shape& shape, int rounds, double factor, int cases) {
  int found = 0;
  for (int each = 0; each < cases; ++each) {
    if (words.contains(compared(shape, rounds, factor, static_cast<std::uint64_t>(each) + 1))) ++found;
  }
  return static_cast<double>(found) / cases;
}

const std::set<Word> kTellApart = {Word::kBetter, Word::kWorse};

TEST(FalseWords, OfTenThousandComparisonsWithItselfOneInThreeHundredOrFewerTellApart) {
  for (const Shape& shape : kShapes) {
    const double rate = rate_of(kTellApart, shape, 6, 1, 10000);
    EXPECT_LE(rate, 0.0035) << shape.name;
    RecordProperty(shape.name, std::to_string(rate));
  }
}

TEST(FalseWords, OtherNumbersOfRoundsHaveTheirBounds) {
  struct Bound {
    int rounds;
    double most;
  };
  for (const Bound& bound :
       {Bound{2, 0.05}, {3, 0.04}, {4, 0.012}, {5, 0.005}, {7, 0.003}, {9, 0.005}, {12, 0.004}, {20, 0.003}}) {
    for (const Shape& shape : kShapes) {
      const double rate = rate_of(kTellApart, shape, bound.rounds, 1, 3000);
      EXPECT_LE(rate, bound.most) << shape.name << " in " << bound.rounds << " rounds";
    }
  }
}

// A rule that never says a word has no false one.
TEST(FalseWords, ADifferenceIsSeenAllTheSame) {
  const Shape quiet = {"normal, 1%", [](Random& random, int, int) { return std::exp(0.01 * random.normal()); }};
  EXPECT_GE(rate_of({Word::kBetter}, quiet, 6, 1.1, 2000), 0.95);
  EXPECT_GE(rate_of({Word::kBetter}, quiet, 12, 1.05, 2000), 0.95);
  EXPECT_GE(rate_of({Word::kBetter}, quiet, 3, 1.2, 2000), 0.95);
  EXPECT_GE(rate_of({Word::kWorse}, quiet, 6, 1 / 1.1, 2000), 0.95);
  EXPECT_EQ(rate_of({Word::kWorse}, quiet, 6, 1.1, 2000), 0);
  EXPECT_GE(rate_of({Word::kEqual}, quiet, 6, 1, 2000), 0.5);
}

TEST(RoundOrder, EachStandsBeforeEachOtherAsOftenAsBehindItInTwoRounds) {
  constexpr std::size_t kMany = 5;
  RoundOrder order(kMany, 7);
  order.next(0);
  for (int round = 1; round < 20; round += 2) {
    const std::vector<std::size_t> first = order.next(round);
    std::vector<std::size_t> second = order.next(round + 1);
    EXPECT_EQ(std::set(first.begin(), first.end()).size(), kMany);
    std::reverse(second.begin(), second.end());
    EXPECT_EQ(first, second) << round;
  }
}

TEST(RoundOrder, IsTheSeedsAndChanges) {
  const auto orders = [](std::uint64_t seed) {
    RoundOrder order(4, seed);
    std::vector<std::vector<std::size_t>> all;
    for (int round = -1; round <= 8; ++round) all.push_back(order.next(round));
    return all;
  };
  EXPECT_EQ(orders(1), orders(1));
  EXPECT_NE(orders(1), orders(2));
  const auto all = orders(3);
  EXPECT_GE(std::set(all.begin(), all.end()).size(), 4u);
}

}  // namespace
}  // namespace snug::tool
