// The fitted map against every map there is, where there are few enough to try them all.
#include "classes/classes_fit.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "size/class_list.h"

namespace snug::tool {
namespace {

// The definition, block by block.
std::uint64_t plain_cost(const FitTask& task, const std::vector<std::size_t>& sizes) {
  std::uint64_t waste = 0;
  std::vector<std::uint64_t> blocks(sizes.size());
  for (const auto& [size, count] : task.histogram.entries) {
    for (std::uint64_t i = 0; i < count; ++i) {
      std::size_t c = 0;
      while (c < sizes.size() && sizes[c] < size) ++c;
      if (c == sizes.size()) {
        std::size_t pages = 0;
        while (pages * 4096 < size) ++pages;
        waste += pages * 4096 - size;
      } else {
        waste += sizes[c] - size;
        ++blocks[c];
      }
    }
  }
  std::uint64_t full = 0;
  for (std::size_t c = 0; c < sizes.size(); ++c) {
    std::size_t cached = task.hint.most_bytes / sizes[c];
    if (cached > task.hint.most_blocks) cached = task.hint.most_blocks;
    if (cached < task.hint.least_blocks) cached = task.hint.least_blocks;
    full += (cached < blocks[c] ? cached : blocks[c]) * sizes[c];
  }
  return waste + task.threads * (full < task.budget ? full : task.budget);
}

bool is_allowed(const FitTask& task, const std::vector<std::size_t>& sizes) {
  if (sizes.empty() || sizes.size() > task.max_classes || sizes.back() != task.candidates.back()) return false;
  double before = static_cast<double>(task.candidates.front());
  std::size_t next = task.candidates.front();  // the smallest that may follow
  for (const std::size_t size : sizes) {
    if (size != next && static_cast<double>(size) > task.max_gap * before) return false;
    before = static_cast<double>(size);
    const auto behind = std::upper_bound(task.candidates.begin(), task.candidates.end(), size);
    next = behind == task.candidates.end() ? 0 : *behind;
  }
  return true;
}

struct Best {
  std::optional<std::uint64_t> cost;
  std::size_t fewest = SIZE_MAX;  // classes of any allowed map
};

Best try_every_map(const FitTask& task) {
  Best best;
  for (std::uint32_t chosen = 1; chosen < 1u << task.candidates.size(); ++chosen) {
    std::vector<std::size_t> sizes;
    for (std::size_t i = 0; i < task.candidates.size(); ++i)
      if ((chosen >> i & 1) != 0) sizes.push_back(task.candidates[i]);
    if (!is_allowed(task, sizes)) continue;
    const std::uint64_t cost = plain_cost(task, sizes);
    if (!best.cost || cost < *best.cost) best.cost = cost;
    best.fewest = std::min(best.fewest, sizes.size());
  }
  return best;
}

FitTask any_task() {
  const auto steps = *rc::gen::container<std::vector<std::size_t>>(*rc::gen::inRange<std::size_t>(1, 10),
                                                                   rc::gen::inRange<std::size_t>(1, 6));
  FitTask task{};
  for (const std::size_t step : steps)
    task.candidates.push_back((task.candidates.empty() ? 0 : task.candidates.back()) + 16 * step);
  const auto sizes = *rc::gen::unique<std::vector<std::size_t>>(
      *rc::gen::inRange<std::size_t>(0, 12), rc::gen::inRange<std::size_t>(0, task.candidates.back() + 40));
  for (const std::size_t size : sizes)
    task.histogram.entries.push_back({size, *rc::gen::inRange<std::uint64_t>(1, 20)});
  std::sort(task.histogram.entries.begin(), task.histogram.entries.end(),
            [](const auto& a, const auto& b) { return a.size < b.size; });
  task.max_classes = *rc::gen::inRange<std::size_t>(1, 10);
  task.threads = *rc::gen::inRange<std::uint64_t>(0, 4);
  task.budget = *rc::gen::inRange<std::uint64_t>(0, 3000);
  task.hint.least_blocks = *rc::gen::inRange<std::size_t>(1, 4);
  task.hint.most_blocks = task.hint.least_blocks + *rc::gen::inRange<std::size_t>(0, 12);
  task.hint.most_bytes = *rc::gen::inRange<std::size_t>(0, 2000);
  task.max_gap = *rc::gen::element(1.0, 1.3, 2.0, 3.0, 1e6);
  return task;
}

RC_GTEST_PROP(ClassesFit, NoMapCostsLess, ()) {
  const FitTask task = any_task();
  const Best best = try_every_map(task);
  const auto sizes = fit(task);
  RC_CLASSIFY(sizes.has_value(), "reachable");
  RC_ASSERT(sizes.has_value() == best.cost.has_value());
  if (!sizes) return;
  RC_ASSERT(is_allowed(task, *sizes));
  RC_ASSERT(plain_cost(task, *sizes) == *best.cost);
  RC_ASSERT(cost_of(map_of(*sizes, task.hint), task).total() == *best.cost);
  FitTask unlimited = task;
  unlimited.max_classes = task.candidates.size();
  RC_ASSERT(fewest_classes(task) == try_every_map(unlimited).fewest);
}

TEST(ClassesFit, CandidatesAreWhatTheDropInLoads) {
  const std::vector<std::size_t> sizes = loadable_sizes(262144);
  EXPECT_EQ(sizes.size(), 64u + 252u + 48u);
  ClassList list;
  std::size_t before = 0;
  for (std::size_t size = 1; size <= 262144; ++size) {
    const bool loadable = list.fault_of(size, 1) == nullptr;
    ASSERT_EQ(loadable, std::binary_search(sizes.begin(), sizes.end(), size)) << size;
    ASSERT_TRUE(!loadable || size > before);
    before = loadable ? size : before;
  }
}

// What can be reckoned by hand: two sizes, two classes, nothing wasted; with one class the smaller pays.
TEST(ClassesFit, PlainCases) {
  FitTask task{.histogram = {{{30, 10}, {60, 1}}},
               .candidates = {16, 32, 48, 64},
               .max_classes = 2,
               .threads = 0,
               .budget = 0,
               .hint = {1, 1, 1},
               .max_gap = 1e6};
  EXPECT_EQ(fit(task), (std::vector<std::size_t>{32, 64}));
  EXPECT_EQ(cost_of(map_of({32, 64}, task.hint), task).total(), 10u * 2 + 4);
  task.max_classes = 1;
  EXPECT_EQ(fit(task), (std::vector<std::size_t>{64}));
  // A thread that caches 10 blocks of each class has 320 + 64 bytes in two classes, 640 in one.
  task.max_classes = 2;
  task.threads = 1;
  task.budget = 1000;
  task.hint = {10, 1000, 1};
  EXPECT_EQ(fit(task), (std::vector<std::size_t>{32, 64}));
  EXPECT_EQ(cost_of(map_of({32, 64}, task.hint), task).cache, 320u + 64u);
  EXPECT_EQ(cost_of(map_of({64}, task.hint), task).cache, 640u);
  task.max_gap = 1.5;
  EXPECT_EQ(fit(task), std::nullopt);
  EXPECT_EQ(fewest_classes(task), 4u);
}

}  // namespace
}  // namespace snug::tool
