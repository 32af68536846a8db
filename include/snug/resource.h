// resource.h: memory resources for std::pmr.
//
//   heap_resource()                 snug's heap as a std::pmr::memory_resource. Thread-safe
//   PoolResource                    in place of std::pmr::unsynchronized_pool_resource: a pool for each class of sizes
//   SynchronizedPoolResource        in place of std::pmr::synchronized_pool_resource: the same behind one lock
//   MonotonicResource               in place of std::pmr::monotonic_buffer_resource: memory goes back all at once
//   SynchronizedMonotonicResource   the same behind a lock, so that threads may fill one together
//
// They take the constructors' arguments of their counterparts, keep their contracts and draw, like them, from
// std::pmr::get_default_resource() unless they are given an upstream: PoolResource pool(snug::heap_resource()).
#pragma once

#include <cstddef>
#include <memory_resource>

#include "snug/pool/monotonic_resource.h"
#include "snug/pool/pool_resource.h"
#include "snug/pool/source.h"

namespace snug {

class HeapResource final : public std::pmr::memory_resource {
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    void* const memory = HeapMemory::allocate(bytes, alignment);
    if (memory == nullptr) throw_out_of_memory();
    return memory;
  }
  void do_deallocate(void* memory, std::size_t bytes, std::size_t alignment) override {
    HeapMemory::deallocate(memory, bytes, alignment);
  }
  // All HeapResources are the same heap, but without RTTI this cannot tell that another resource is one of them.
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }
};

// Always the same one, never destroyed.
inline std::pmr::memory_resource* heap_resource() noexcept {
  alignas(HeapResource) static unsigned char storage[sizeof(HeapResource)];
  static HeapResource* const resource = ::new (storage) HeapResource;
  return resource;
}

}  // namespace snug
