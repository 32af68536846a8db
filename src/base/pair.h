// Pair: two values that a function returns at once.
#pragma once

namespace snug {

template <class First, class Second>
struct Pair {
  First first;
  Second second;
};
template <class First, class Second>
Pair(First, Second) -> Pair<First, Second>;

}  // namespace snug
