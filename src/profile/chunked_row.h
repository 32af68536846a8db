// ChunkedRow: a row of records that grows by chunks and never moves, so that its elements are known by their numbers.
// The caller adds memory for a chunk before the row is full, under no lock, as the arena may make a system call.
//
//   count <= room == chunks * kChunk
//
// Not thread-safe: the holder of the lock that guards it calls it.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/in_place.h"

namespace snug {

template <class T>
class ChunkedRow {
 public:
  static constexpr size_t kChunkBytes = size_t{16} << 10;
  static constexpr uint32_t kChunk = kChunkBytes / sizeof(T);
  static constexpr uint32_t kMostChunks = 256;

  uint32_t size() const { return count_; }
  uint32_t left() const { return chunk_count_ * kChunk - count_; }
  bool may_grow() const { return chunk_count_ != kMostChunks; }
  // `memory` is kChunkBytes of zeros.
  void grow(void* memory) { chunks_[chunk_count_++] = static_cast<T*>(memory); }
  // left() is not 0.
  uint32_t add(const T& element) {
    ::new (InPlace{static_cast<void*>(&chunks_[count_ / kChunk][count_ % kChunk])}) T(element);
    return count_++;
  }
  T& operator[](uint32_t number) { return chunks_[number / kChunk][number % kChunk]; }
  const T& operator[](uint32_t number) const { return chunks_[number / kChunk][number % kChunk]; }

 private:
  T* chunks_[kMostChunks] = {};
  uint32_t chunk_count_ = 0;
  uint32_t count_ = 0;
};

}  // namespace snug
