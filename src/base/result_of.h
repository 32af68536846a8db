// ResultOf<Function>: what a call without arguments returns.
#pragma once

namespace snug {

template <class Function>
Function& some_function();  // never defined: only its type is looked at

template <class Function>
using ResultOf = decltype(some_function<Function>()());

}  // namespace snug
