// pool/checks.h: whether a pool checks its callers, and how it reports misuse.
//
// A checked pool keeps one bit for each slot, behind the slots of a block, and ends the process with one line when
//   - an element is freed or destroyed that is not one of its own (another pool's, an address inside an element);
//   - an element is freed or destroyed twice;
//   - the pool is destroyed while elements are live;
//   - the pool is made for an alignment that is no power of two;
//   - it finds a free element, or a record of its own, that was written over.
// Free elements are filled, so that a read from them gives useless values, and a write to them is found when they are
// handed out again, or when the whole pool is checked. Valgrind's memcheck is told which elements are live.
//
// The pool checks before it acts: before a destructor runs, and before it follows a link. Each check is O(1)
// (pool/block_index.h), except that of an element's fill, which is O(element).
//
// Whether a pool is checked is part of its type, and pools are unchecked unless their type says otherwise:
// Pool<Node, SingleThread, Checked>. No macro changes that, so that a name means the same in all files of a program.
#pragma once

#include <cstddef>

#include "snug/base/last_line.h"

namespace snug {

struct Unchecked {
  static constexpr bool kWatches = false;
  static constexpr bool kTells = false;  // whether memcheck is told which elements are live (poison.h): a test a call
};
struct Checked {
  static constexpr bool kWatches = true;
  static constexpr bool kTells = true;
};
// For the pools of a resource: its calls take longer anyhow.
struct OnlyTold : Unchecked {
  static constexpr bool kTells = true;
};

// A text that need not end in a 0.
struct TypeText {
  const char* start = nullptr;
  std::size_t length = 0;
};

// What a message calls a pool: Pool<Node>, or Pool{48, 16} if it is untyped.
struct PoolName {
  TypeText type;  // of no length: it is untyped
  std::size_t size;
  std::size_t alignment;
};

// "snug: Pool<Node>::CALL(0xADDRESS): REASON", then abort().
[[noreturn, gnu::cold, gnu::noinline]] inline void die_of_pool_misuse(const PoolName& pool, const char* call,
                                                                      const void* address,
                                                                      const char* reason) noexcept {
  // A long type must not push the reason out of the line.
  constexpr std::size_t kMostOfType = 150;
  LastLine line;
  line.add("snug: Pool");
  if (pool.type.length == 0)
    line.add("{").add_number(pool.size).add(", ").add_number(pool.alignment).add("}");
  else
    line.add("<").add(pool.type.start, pool.type.length < kMostOfType ? pool.type.length : kMostOfType).add(">");
  line.add("::").add(call).add("(").add_address(address).add("): ").add(reason).end_process();
}

// The name of T as the compiler writes it; no RTTI is needed.
template <class T>
struct TypeName {
  static constexpr TypeText text() {
    // Ends in "[T = Node]" or "[with T = Node]".
    const char* name = spelled();
    while (!(name[0] == 'T' && name[1] == ' ' && name[2] == '=' && name[3] == ' ')) ++name;
    name += 4;
    std::size_t length = 0;
    while (name[length] != '\0') ++length;
    return {name, length - 1};
  }

 private:
  static constexpr const char* spelled() { return __PRETTY_FUNCTION__; }
};

}  // namespace snug
