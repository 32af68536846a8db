// The rule of verdicts on made-up samples (tests/verdict_cases.json, which the benchmark's harness answers as well),
// and what others took of the processors.
#include "compare/verdict.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "compare/processor_time.h"
#include "print/quantity.h"

namespace snug::tool {
namespace {

using Json = nlohmann::json;

const Json& cases(const char* kind) {
  static const Json all = Json::parse(std::ifstream(VERDICT_CASES));
  return all.at(kind);
}

std::map<int, double> by_round(const Json& values) {
  std::map<int, double> result;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!values[i].is_null()) result[static_cast<int>(i) + 1] = values[i].get<double>();
  }
  return result;
}

Word word_named(const std::string& name) {
  for (const Word word : kWordsBestFirst) {
    if (name == name_of(word)) return word;
  }
  ADD_FAILURE() << "no word: " << name;
  return Word::kUnclear;
}

void expect_close(double value, const Json& expected) {
  EXPECT_LE(std::abs(value - expected.get<double>()), 1e-9 * std::abs(expected.get<double>())) << value;
}

TEST(Verdict, SamplesHaveTheirRatioIntervalAndWord) {
  for (const Json& sample : cases("samples")) {
    SCOPED_TRACE(sample["name"]);
    const bool higher = sample["better"] == "higher";
    const auto ratio = cost_ratio(by_round(sample["a"]), by_round(sample["b"]), sample["unit"],
                                  higher ? Direction::kHigherIsBetter : Direction::kLowerIsBetter);
    EXPECT_STREQ(name_of(ratio.value_or(CostRatio{}).word), sample["word"].get<std::string>().c_str());
    ASSERT_EQ(ratio.has_value(), !sample["ratio"].is_null());
    if (!ratio) continue;
    expect_close(ratio->median, sample["ratio"]);
    ASSERT_EQ(ratio->interval.has_value(), !sample["interval"].is_null());
    if (!ratio->interval) continue;
    expect_close(ratio->interval->low, sample["interval"][0]);
    expect_close(ratio->interval->high, sample["interval"][1]);
  }
}

// What is better than another makes that worse, and so on, whatever the sample.
TEST(Verdict, IsTheOppositeTheOtherWayRound) {
  const std::map<Word, Word> opposite = {{Word::kBetter, Word::kWorse},
                                         {Word::kWorse, Word::kBetter},
                                         {Word::kEqual, Word::kEqual},
                                         {Word::kUnclear, Word::kUnclear}};
  for (const Json& sample : cases("samples")) {
    SCOPED_TRACE(sample["name"]);
    const bool higher = sample["better"] == "higher";
    const auto ratio = cost_ratio(by_round(sample["b"]), by_round(sample["a"]), sample["unit"],
                                  higher ? Direction::kHigherIsBetter : Direction::kLowerIsBetter);
    EXPECT_EQ(ratio.value_or(CostRatio{}).word, opposite.at(word_named(sample["word"])));
  }
}

TEST(Verdict, EveryWordHasSamples) {
  for (const Word word : kWordsBestFirst) {
    const auto& samples = cases("samples");
    EXPECT_GE(std::count_if(samples.begin(), samples.end(), [&](const Json& s) { return s["word"] == name_of(word); }),
              5)
        << name_of(word);
  }
}

TEST(Verdict, ARowHasTheWorstOfItsWords) {
  for (const Json& row : cases("rows")) {
    std::vector<Word> words;
    for (const Json& name : row["words"]) words.push_back(word_named(name));
    EXPECT_EQ(worst(words), word_named(row["word"])) << row;
  }
  EXPECT_EQ(worst({}), std::nullopt);
}

TEST(Verdict, OnlyBetterAndEqualAreStarred) {
  EXPECT_TRUE(deserves_star(Word::kBetter));
  EXPECT_TRUE(deserves_star(Word::kEqual));
  EXPECT_FALSE(deserves_star(Word::kWorse));
  EXPECT_FALSE(deserves_star(Word::kUnclear));
}

TEST(Verdict, NoiseIsNamedWithHowMuch) {
  for (const Json& noise : cases("noise")) {
    SCOPED_TRACE(noise["name"]);
    std::optional<double> others;
    if (!noise["others"].is_null()) others = noise["others"].get<double>();
    const Noise found = noise_of(others, noise["half_widths"].get<std::vector<double>>());
    EXPECT_EQ(found.too_noisy(), noise["too_noisy"].get<bool>());
    const std::string says = found.too_noisy() ? "Too noisy to judge time: " + found.reasons() : "";
    EXPECT_EQ(says, noise["says"].get<std::string>());
  }
}

TEST(Verdict, HalfWidthIsRelativeToTheRatio) {
  CostRatio ratio;
  ratio.median = 2;
  EXPECT_EQ(half_width(ratio), std::nullopt);
  ratio.interval = Interval{.low = 1.8, .high = 2.6};
  EXPECT_DOUBLE_EQ(half_width(ratio).value_or(0), 0.2);
}

TEST(ProcessorTime, CountsWhatIsBusyOrStolen) {
  std::istringstream stat("cpu  100 20 30 1000 50 4 6 40 70 20\ncpu0 1 2 3\n");
  const ProcessorTime time = read_processor_time(stat, 100);
  EXPECT_DOUBLE_EQ(time.taken, 2.0);   // user, nice, system, irq, softirq, steal; guests are in the first two
  EXPECT_DOUBLE_EQ(time.total, 12.5);  // idle and waiting for disks, too
  std::istringstream nonsense("no processors here");
  EXPECT_EQ(read_processor_time(nonsense, 100).total, 0);
}

TEST(ProcessorTime, OthersTookWhatWasNotOurs) {
  const ProcessorTime before{.total = 100, .taken = 50, .own = 10};
  EXPECT_DOUBLE_EQ(others_share(before, {.total = 120, .taken = 65, .own = 20}).value_or(-1), 0.25);
  EXPECT_DOUBLE_EQ(others_share(before, {.total = 120, .taken = 60, .own = 21}).value_or(-1), 0);  // ticks are rough
  EXPECT_EQ(others_share(before, {.total = 100.5, .taken = 50.5, .own = 10}), std::nullopt);
  EXPECT_EQ(others_share({}, {}), std::nullopt);
}

TEST(ProcessorTime, IsReadFromThisMachine) {
  const ProcessorTime now = processor_time_now();
  EXPECT_GT(now.taken, 0);
  EXPECT_GE(now.total, now.taken);
}

TEST(Quantity, KindsAreToldByTheUnit) {
  for (const char* unit : {"s", "ms", "ns", "op/s", "op/CPU s", "M/s"}) EXPECT_EQ(kind_of(unit), QuantityKind::kTime);
  for (const char* unit : {"B", "KiB", "MB"}) EXPECT_EQ(kind_of(unit), QuantityKind::kMemory);
  for (const char* unit : {"", "%", "errors"}) EXPECT_EQ(kind_of(unit), QuantityKind::kOther);
}

}  // namespace
}  // namespace snug::tool
