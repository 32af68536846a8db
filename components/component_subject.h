// ComponentSubject: a heap that is no malloc, as the player calls it (replayer/player.h). What such a heap does not
// have is made of what it has: calloc clears what it gets, operators new and delete are allocations and frees, an
// alignment that is no power of two is none, a reallocation to nothing frees.
//
// Its threads take turns at one lock, as soon as there is a second one: none of these heaps has one of its own.
#pragma once

#include <pthread.h>

#include <cstddef>
#include <cstdint>

#include "components/cell_component.h"
#include "components/compact_component.h"
#include "components/pool_component.h"
#include "replayer/stage.h"
#include "trace/operation.h"

namespace snug::components {

class ComponentSubject {
 public:
  // False if there is no memory for what was asked for.
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
  // Where it lies now.
  void* address_of(void* block);

 private:
  class Turn;
  // Calls with the heap under test.
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
