// Outbox: holds the blocks of one class that a flush has met and that belong to other heaps, until it sends them owner
// by owner: what one send has for an owner goes home in one visit, or is posted. It lives under one hold of the
// flushing heap's lock.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace snug {

class SlabHeap;

class Outbox {
 public:
  Outbox(SlabHeap& heap, size_t size_class) : heap_(heap), size_class_(size_class) {}
  ~Outbox() { send(); }
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  // Takes free blocks of the class that belong to the heap with the id `owner`.
  void add(void* const* blocks, size_t count, uint16_t owner);

  // The most blocks that are sent under one hold of an owner's lock.
  static constexpr size_t kCapacity = 64;

 private:
  // Under the flushing heap's lock: sends each owner its blocks by SlabHeap::send(), which tries the owner's lock or
  // posts, and waits for no heap's lock.
  void send();

  SlabHeap& heap_;
  const size_t size_class_;
  size_t count_ = 0;
  void* blocks_[kCapacity];
  uint16_t owners_[kCapacity];
};

}  // namespace snug
