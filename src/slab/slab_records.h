// SlabRecords: memory out of the arena for the records of a heap's slabs; a record is as long as its class needs. The
// caller holds the heap's lock.
#pragma once

#include <stddef.h>
#include <string.h>

#include "base/algorithm.h"
#include "base/in_place.h"
#include "slab/slab.h"
#include "span/meta_arena.h"

namespace snug {

class SlabRecords {
 public:
  explicit constexpr SlabRecords(MetaArena& arena) : piece_(arena) {}

  // A record for a slab of the class that begins at `start`; null if the OS refuses memory.
  Slab* make(const SizeClass& sizes, char* start) {
    const size_t words = sizes.bitmap_words();
    Free*& list = free_[list_of(words)];
    void* memory = list;
    if (memory != nullptr)
      list = list->next;
    else if (memory = piece_.cut(Slab::record_bytes(words)); memory == nullptr)
      return nullptr;
    memset(memory, 0, Slab::record_bytes(words));
    auto* slab = ::new (InPlace{memory}) Slab;
    slab->start = start;
    ::new (InPlace{&slab->remote(sizes)}) SlabRemoteFrees(start, static_cast<uint16_t>(Slab::remote_offset(words)));
    return slab;
  }
  void recycle(Slab* slab, const SizeClass& sizes) {
    Free*& list = free_[list_of(sizes.bitmap_words())];
    list = ::new (InPlace{static_cast<void*>(slab)}) Free{list};
  }
  // For a slab of the class that leaves this heap with its record: takes one that is free in the other heap, if there
  // is one. So heaps that make slabs for others to adopt get their records back. The caller holds that heap's lock too.
  void take_from(SlabRecords& heir, const SizeClass& sizes) {
    const size_t list = list_of(sizes.bitmap_words());
    Free* const record = heir.free_[list];
    if (record == nullptr) return;
    heir.free_[list] = exchange(record->next, free_[list]);
    free_[list] = record;
  }

 private:
  struct Free {
    Free* next;
  };
  static constexpr size_t kMostWords = kMaxBlocksPerSlab / 64;
  static constexpr size_t kLeastLines = Slab::record_bytes(1) / kCacheLine;
  static constexpr size_t list_of(size_t words) { return Slab::record_bytes(words) / kCacheLine - kLeastLines; }

  ArenaPiece piece_;
  Free* free_[Slab::record_bytes(kMostWords) / kCacheLine - kLeastLines + 1] = {};
};

}  // namespace snug
