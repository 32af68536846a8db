#include "compare/unified_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "print/quantity.h"
#include "text/printable.h"

namespace snug::tool {

namespace {

struct Standard {
  std::string unit;
  bool higher_is_better;
  std::string where;  // "snug, round 1"
};

template <typename Action>
void for_each_figure(Comparison& comparison, const Action& action) {
  for (Contender& contender : comparison.contenders) {
    for (auto* runs : {&contender.runs, &contender.warmups}) {
      for (Run& run : *runs) {
        const std::string where = fmt::format("{}, {}", contender.allocator.name,
                                              run.round == 0 ? "warm-up" : fmt::format("round {}", run.round));
        for (Figure& figure : run.figures) action(figure, run, where);
      }
    }
  }
}

std::string shown(const std::string& unit, bool higher_is_better) {
  return fmt::format("unit '{}', better {}", printable(unit), higher_is_better ? "higher" : "lower");
}

}  // namespace

void unify_figures(Comparison& comparison) {
  std::map<std::string, Standard> standards;
  const auto set_standard = [&](const Figure& figure, const Run&, const std::string& where) {
    standards.try_emplace(figure.name, figure.unit, figure.higher_is_better, where);
  };
  for_each_figure(comparison, [&](const Figure& figure, const Run& run, const std::string& where) {
    if (run.round != 0 && run.counts()) set_standard(figure, run, where);
  });
  for_each_figure(comparison, set_standard);  // those that no counted run has

  std::set<std::string> refused;
  for_each_figure(comparison, [&](Figure& figure, const Run&, const std::string& where) {
    const Standard& standard = standards.at(figure.name);
    const std::optional<double> value = converted(figure.value, figure.unit, standard.unit);
    if (value && figure.higher_is_better == standard.higher_is_better) {
      figure.value = *value;
      figure.unit = standard.unit;
    } else if (refused.insert(figure.name).second) {
      comparison.refused_figures.push_back(fmt::format(
          "figure '{}' is not compared: {} wrote it with {}, {} with {}", printable(figure.name), standard.where,
          shown(standard.unit, standard.higher_is_better), where, shown(figure.unit, figure.higher_is_better)));
    }
  });
  for (Contender& contender : comparison.contenders) {
    for (auto* runs : {&contender.runs, &contender.warmups}) {
      for (Run& run : *runs)
        std::erase_if(run.figures, [&](const Figure& figure) { return refused.contains(figure.name); });
    }
  }
}

std::string nonsense_among(const std::vector<Figure>& figures) {
  const auto found =
      std::find_if(figures.begin(), figures.end(), [](const Figure& figure) { return figure.value < 0; });
  if (found == figures.end()) return {};
  return fmt::format("it wrote nonsense: {} is {:g}{}{}", printable(found->name), found->value,
                     found->unit.empty() ? "" : " ", printable(found->unit));
}

}  // namespace snug::tool
