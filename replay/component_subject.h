// ComponentSubject: a heap that is no malloc, as the player calls it (replay/player.h). Functions that such a heap
// does not have are made of those it has: calloc clears an allocation, operators new and delete are allocations and
// frees, an alignment that is no power of two is ignored, a reallocation to 0 bytes frees.
//
// As soon as there is a second thread, threads take one lock: none of these heaps has one of its own.
#pragma once

#include <pthread.h>

#include <cstddef>
#include <cstdint>

#include "replay/cell_component.h"
#include "replay/compact_component.h"
#include "replay/pool_component.h"
#include "replay/stage.h"
#include "trace/operation.h"

namespace snug::components {

class ComponentSubject {
 public:
  // False if there is no memory for these options.
  bool begin(const replayer::ComponentOptions& options);
  void expect_threads() { has_threads_ = true; }

  void* allocate(trace::Operation operation, std::size_t size, std::size_t alignment);
  void* reallocate(trace::Operation operation, void* block, std::size_t size_before, std::size_t size);
  void free(trace::Operation operation, void* block, std::size_t size, std::size_t alignment);
  std::size_t usable_size(void* block);
  static void trim(std::size_t /*kept*/) {}
  static bool read_mallinfo(std::uint64_t (& /*fields*/)[trace::kMallinfoFields]) { return false; }
  static bool read_snug(replayer::SnugMemory& /*memory*/) { return false; }
  void write(void* block, std::size_t from, std::size_t count);
  // The block's address now.
  void* address_of(void* block);

 private:
  class Turn;
  // Calls call(heap) with the heap under test.
  template <class Call>
  auto with_heap(Call call);

  replayer::Component component_ = replayer::Component::kNone;
  bool has_threads_ = false;
  pthread_mutex_t lock_ = PTHREAD_MUTEX_INITIALIZER;
  CellComponent cells_;
  PoolComponent pools_;
  CompactComponent compact_;
};

}  // namespace snug::components
