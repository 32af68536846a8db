// pool/policies.h: the concepts of a pool's template parameters. Where a program names a pool with a wrong one, the
// compiler's error names the concept.
#pragma once

#include "snug/base/cpp20.h"

#include <concepts>
#include <cstddef>

namespace snug {

// Stands in for a PoolStore, which a concept must not make.
struct AnyPoolStore {
  static constexpr bool kWatched = false;
};

// SingleThread, Locked, ThreadCached (pool/threads.h).
template <class Threads>
concept PoolThreads = requires {
  typename Threads::template Front<AnyPoolStore>;
  { Threads::kMoves } -> std::convertible_to<bool>;
};

// Unchecked, Checked (pool/checks.h).
template <class Checks>
concept PoolChecks = requires {
  { Checks::kWatches } -> std::convertible_to<bool>;
  { Checks::kTells } -> std::convertible_to<bool>;
};

// pool/source.h. It returns null when it has no memory: an exception would lose the elements of a batch.
template <class Source>
concept PoolSource = std::copy_constructible<Source> && requires(Source& source, void* block, std::size_t bytes) {
  { source.allocate(bytes, bytes) } noexcept -> std::same_as<void*>;
  source.deallocate(block, bytes, bytes);
};

}  // namespace snug
