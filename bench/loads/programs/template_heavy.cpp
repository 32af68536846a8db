// A translation unit that makes a compiler work: many standard headers, and instantiations of ranges,
// containers of containers and a few recursive templates. `cxx_compile.py` compiles it; nobody runs it.
#include <algorithm>
#include <any>
#include <array>
#include <charconv>
#include <chrono>
#include <deque>
#include <filesystem>
#include <functional>
#include <future>
#include <iostream>
#include <list>
#include <map>
#include <memory_resource>
#include <numeric>
#include <optional>
#include <queue>
#include <random>
#include <ranges>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace {

template <int N>
struct Tagged {
  int value = N;
  auto operator<=>(const Tagged&) const = default;
};

// One of everything for each N: each line below is another set of instantiations for the compiler to keep.
template <int N>
std::size_t exercise(std::string_view text) {
  using Key = Tagged<N>;
  std::map<Key, std::vector<std::optional<std::string>>> table;
  table[Key{static_cast<int>(text.size())}].emplace_back(text);
  std::variant<Key, std::string, std::map<Key, std::deque<Key>>> choice = Key{};
  const auto visited = std::visit([](const auto& held) { return sizeof held; }, choice);
  std::set<std::tuple<Key, std::string, double>> tuples;
  tuples.emplace(Key{}, std::string(text), 1.0 / (N + 1));
  std::priority_queue<Key, std::vector<Key>, std::greater<>> queue;
  for (int i = 0; i < N + 3; ++i) queue.push(Key{i});
  std::vector<Key> keys(static_cast<std::size_t>(N + 8));
  std::ranges::sort(keys, std::greater<>{}, &Key::value);
  auto odd = keys | std::views::filter([](const Key& key) { return key.value % 2 == 1; }) |
             std::views::transform([](const Key& key) { return key.value * N; }) | std::views::take(5);
  std::function<std::size_t(const std::string&)> measure = [&](const std::string& part) { return part.size() + N; };
  return table.size() + visited + tuples.size() + queue.size() + measure(std::string(text)) +
         static_cast<std::size_t>(std::ranges::distance(odd));
}

template <int... N>
std::size_t exercise_all(std::string_view text, std::integer_sequence<int, N...>) {
  return (exercise<N>(text) + ...);
}

}  // namespace

int main(int count, char** arguments) {
  const std::string text = count > 1 ? arguments[1] : "name = 12.5";
  auto later = std::async(std::launch::deferred, [&] { return text.size() > 3; });
  return exercise_all(text, std::make_integer_sequence<int, 4>{}) > 1000 && later.get() ? 1 : 0;
}
