// pool_checks.h: whether a pool watches its callers, and what it says of a misuse.
//
// A checked pool keeps one bit for each slot, behind the slots of a block, and ends the process with one line when
//   - an element is freed or destroyed that is not one of its own (another pool's, an address inside an element);
//   - an element is freed or destroyed twice;
//   - the pool is destroyed while elements are live;
//   - the pool is made for an alignment that is no power of two;
//   - it comes upon a free element, or a record of its own, that was written over.
// Free elements are filled, so that what is read from them is of no use, and what is written to them is found when they
// are handed out again, or when the whole pool is looked at. Valgrind's memcheck is told which elements are live.
//
// It looks before it acts: before a destructor runs, and before it follows a link. Each look is O(1)
// (pool_block_index.h), but at an element's fill, which is as long as the element.
//
// Which of the two a pool is belongs to its type, and pools are unchecked unless their type says otherwise:
// Pool<Node, SingleThread, Checked>. No macro changes that, so that all files of a program mean the same by one name.
#pragma once

#include <cstddef>

#include "snug/last_line.h"

namespace snug {

struct Unchecked {
  static constexpr bool kWatches = false;
  static constexpr bool kTells = false;  // valgrind's memcheck which elements are live (poison.h): a test in each call
};
struct Checked {
  static constexpr bool kWatches = true;
  static constexpr bool kTells = true;
};
// Of the pools of a resource, whose calls take longer anyhow.
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
