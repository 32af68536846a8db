"""run_gxx.py: g++ compiles a file heavy with templates; the assembler text must be equal."""

from service import Trial, libraries_from_arguments, need

SOURCE = """
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <numeric>
#include <regex>
#include <string>
#include <tuple>
#include <variant>
#include <vector>
template <int N> struct Fibonacci { static constexpr long value = Fibonacci<N - 1>::value + Fibonacci<N - 2>::value; };
template <> struct Fibonacci<1> { static constexpr long value = 1; };
template <> struct Fibonacci<0> { static constexpr long value = 0; };
template <std::size_t... I> long total(std::index_sequence<I...>) { return (Fibonacci<I % 40>::value + ...); }
template <class T> struct Tree { std::map<T, std::vector<std::variant<T, std::string, std::tuple<T, double>>>> nodes;
  void grow(T from, int n) { for (int i = 0; i < n; ++i) nodes[from + i].emplace_back(std::tuple<T, double>(from, i * .5)); }
  double weigh() const { double sum = 0; for (auto& [key, list] : nodes) for (auto& item : list) sum += std::visit(
    [&](auto& value) -> double { using V = std::decay_t<decltype(value)>; if constexpr (std::is_same_v<V, T>) return value;
      else if constexpr (std::is_same_v<V, std::string>) return value.size(); else return std::get<1>(value) + key; }, item); return sum; } };
int main(int argc, char** argv) {
  Tree<int> a; Tree<long> b; Tree<short> c; a.grow(argc, 9); b.grow(argc, 8); c.grow(argc, 7);
  std::vector<std::string> words(argv, argv + argc); std::regex pattern("(a|b)*[c-f]+");
  std::sort(words.begin(), words.end(), [&](auto& x, auto& y) { return std::regex_match(x, pattern) < std::regex_match(y, pattern); });
  std::function<long(long)> f = [&](long n) { return n < 2 ? n : f(n - 1) + f(n - 2); };
  std::cout << total(std::make_index_sequence<200>()) << a.weigh() + b.weigh() + c.weigh() << f(argc) << words.size();
}
"""


def main() -> None:
    trial = Trial(libraries_from_arguments())
    compiler = need("g++")
    assembler = {}
    for allocator in trial.all:
        (allocator.folder / "job.cc").write_text(SOURCE)
        allocator.run(compiler, "-std=c++20", "-O2", "-S", "job.cc", "-o", "job.s")
        assembler[allocator.name] = (allocator.folder / "job.s").read_text()
    trial.expect_equal("assembler", assembler)
    trial.expect_service(("cc1plus",))
    trial.close()


main()
