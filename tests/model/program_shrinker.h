// Cuts a failing program down to a small one that still fails: first to the prefix that ends with the failure, then by
// leaving out runs of operations, halves first, down to single ones. RapidCheck does this for the short programs it
// draws itself; its shrinking is too slow for programs of 10⁵ operations.
#pragma once

#include <functional>

#include "operation.h"

namespace snug::model {

// True if the program fails. Must start from a fresh heap each time.
using Fails = std::function<bool(const Program&)>;

// Calls `fails` at most `attempts` times. `program` must fail.
Program shrink(Program program, const Fails& fails, unsigned attempts);

}  // namespace snug::model
