// pool_checks.h: whether a pool watches its callers, and what it says of a misuse.
//
// A checked pool keeps one bit for each slot, behind the slots of a block, and ends the process with one line when
//   - an element is freed that is not one of its own (another pool's, or an address inside an element);
//   - an element is freed twice;
//   - the pool is destroyed while elements are live;
//   - the pool is made for an alignment that is no power of two.
// Finding an element's block takes a walk over the blocks, so that a checked pool is for tests, not for speed.
//
// Which of the two a pool is belongs to its type: Pool<Node, SingleThread, Checked>. Both have the same size and
// alignment, and a function of one does not link with the other's, so that object files with different defaults do not
// silently share a pool. DefaultChecks is Checked where NDEBUG is not defined; define SNUG_POOL_CHECKS as 0 or 1, alike
// in all files of a program, to decide otherwise.
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#if !defined(SNUG_POOL_CHECKS)
#if defined(NDEBUG)
#define SNUG_POOL_CHECKS 0
#else
#define SNUG_POOL_CHECKS 1
#endif
#endif

namespace snug {

struct Unchecked {
  static constexpr bool kWatches = false;
};
struct Checked {
  static constexpr bool kWatches = true;
};

#if SNUG_POOL_CHECKS
using DefaultChecks = Checked;
#else
using DefaultChecks = Unchecked;
#endif

// What a message calls a pool: Pool<Node>, or Pool{48, 16} if it is untyped.
struct PoolName {
  std::string_view type;
  std::size_t size;
  std::size_t alignment;
};

// "snug: Pool<Node>::CALL(0xADDRESS): REASON", then abort().
[[noreturn, gnu::cold, gnu::noinline]] inline void die_of_pool_misuse(const PoolName& pool, const char* call,
                                                                      const void* address, const char* reason) {
  char name[160];
  if (pool.type.empty())
    std::snprintf(name, sizeof name, "Pool{%zu, %zu}", pool.size, pool.alignment);
  else
    std::snprintf(name, sizeof name, "Pool<%.*s>", static_cast<int>(pool.type.size()), pool.type.data());
  std::fprintf(stderr, "snug: %s::%s(%p): %s\n", name, call, address, reason);
  std::abort();
}

// The name of T as the compiler writes it; no RTTI is needed.
template <class T>
struct TypeName {
  static constexpr std::string_view text() {
    // Ends in "[T = Node]" or "[with T = Node]".
    const std::string_view signature = spelled();
    const std::size_t name = signature.find("T = ") + 4;
    return signature.substr(name, signature.size() - name - 1);
  }

 private:
  static constexpr const char* spelled() { return __PRETTY_FUNCTION__; }
};

}  // namespace snug
