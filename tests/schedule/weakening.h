// Weakening: one operation of a protocol's text done with the next weaker memory order. A protocol has no order too
// much, and its test looks closely enough, if each weakening makes the test fail.
//
//   seq_cst ──► acq_rel ──► acquire, release ──► relaxed            a fence, or an update
//   seq_cst ──► acquire or release ──► relaxed                      a load or a store
//   light_fence ──► none            membarrier ──► seq_cst fence
#pragma once

#include <atomic>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/atomic.h"
#include "operation.h"

namespace snug::schedule {

// Where an operation stands in the text, and how it stands there. The same place in two instances of a template is one.
struct Place {
  std::string_view file;
  uint32_t line = 0, column = 0;
  std::string_view function;  // its bare name, which stays when lines change
  Kind kind = Kind::kFence;
  MemoryOrder order = kRelaxed;
  MemoryOrder failure = kRelaxed;

  explicit Place(const Operation& operation);
  auto operator<=>(const Place&) const = default;
};

struct Weakening {
  Place place;
  Kind kind;
  MemoryOrder order, failure;

  Operation applied_to(Operation operation) const;
  // "mailbox.h:41 take: load(acquire) as load(relaxed)"
  std::string text() const;
};

// The bare name of a function, out of what the compiler says of it: "void snug::Stack<T>::push(T) [with T = int]".
std::string_view bare_name(std::string_view function);

std::vector<Weakening> weakenings_of(const Place& place);

}  // namespace snug::schedule
