// Trailer: the boundary tag at a cell's far edge, which lets the next cell find its beginning, so that a freed cell
// merges with the one before it in O(1). Three policies:
//
//   TrailerOnFree   only free cells have one; a flag in the next cell's head says whether it is there. The default. A
//                   used cell costs one word, its head.
//   TrailerAlways   every cell has one, with the used flag in it: two words a used cell. The document's version. If
//                   head and trailer of a used cell differ, its block was written past its end, or before its start.
//   TrailerNever    no cell has one: a freed cell merges with the one behind it only, so that free cells may be
//                   neighbours, pages do not become whole again, and a free looks at fewer signs of misuse. A used cell
//                   costs one word. The document's old version, there to be compared with.
//
// The heap calls mark_used or mark_free for a cell each time that its size or its use changes.
#pragma once

#include "snug/cell/cell.h"

namespace snug {

struct TrailerOnFree {
  static constexpr size_t kBytesOfUsed = 0;
  static constexpr bool kMergesBackward = true;

  template <class Layout>
  static void mark_used(size_t, Cell* next) {
    next->head |= kCellPrevUsed;
  }
  template <class Layout>
  static void mark_free(size_t size, Cell* next) {
    Layout::set_word_before(next, size);
    next->head &= ~kCellPrevUsed;
  }
  // The same if the head of `next` already has the right flag.
  template <class Layout>
  static void keep_used(size_t, Cell*) {}
  template <class Layout>
  static void keep_free(size_t size, Cell* next) {
    Layout::set_word_before(next, size);
  }
  template <class Layout>
  static bool prev_is_free(const Cell* cell) {
    return (cell->head & kCellPrevUsed) == 0;
  }
  // For a used cell: true if the flag or trailer behind it agrees.
  template <class Layout>
  static bool agrees(size_t, const Cell* next) {
    return (Layout::head_of(next) & kCellPrevUsed) != 0;
  }
};

struct TrailerAlways {
  static constexpr size_t kBytesOfUsed = sizeof(size_t);
  static constexpr bool kMergesBackward = true;

  template <class Layout>
  static void mark_used(size_t size, Cell* next) {
    Layout::set_word_before(next, size | kCellUsed);
  }
  template <class Layout>
  static void mark_free(size_t size, Cell* next) {
    Layout::set_word_before(next, size);
  }
  template <class Layout>
  static void keep_used(size_t size, Cell* next) {
    mark_used<Layout>(size, next);
  }
  template <class Layout>
  static void keep_free(size_t size, Cell* next) {
    mark_free<Layout>(size, next);
  }
  template <class Layout>
  static bool prev_is_free(const Cell* cell) {
    return (Layout::word_before(cell) & kCellUsed) == 0;
  }
  template <class Layout>
  static bool agrees(size_t size, const Cell* next) {
    return Layout::word_before(next) == (size | kCellUsed);
  }
};

struct TrailerNever {
  static constexpr size_t kBytesOfUsed = 0;
  static constexpr bool kMergesBackward = false;

  template <class Layout>
  static void mark_used(size_t, Cell*) {}
  template <class Layout>
  static void mark_free(size_t, Cell*) {}
  template <class Layout>
  static void keep_used(size_t, Cell*) {}
  template <class Layout>
  static void keep_free(size_t, Cell*) {}
  template <class Layout>
  static bool prev_is_free(const Cell*) {
    return false;  // unknown without trailers
  }
  template <class Layout>
  static bool agrees(size_t, const Cell*) {
    return true;
  }
};

}  // namespace snug
