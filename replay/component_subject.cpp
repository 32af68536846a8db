#include "replay/component_subject.h"

#include <bit>
#include <cstring>

namespace snug::components {

using replayer::Component;
using replayer::kPage;
using trace::Operation;

class ComponentSubject::Turn {
 public:
  explicit Turn(ComponentSubject& subject) : lock_(subject.has_threads_ ? &subject.lock_ : nullptr) {
    if (lock_ != nullptr) pthread_mutex_lock(lock_);
  }
  ~Turn() {
    if (lock_ != nullptr) pthread_mutex_unlock(lock_);
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  pthread_mutex_t* const lock_;
};

template <class Call>
auto ComponentSubject::with_heap(Call call) {
  const Turn turn(*this);
  switch (component_) {
    case Component::kCell:
      return call(cells_);
    case Component::kPool:
      return call(pools_);
    default:
      return call(compact_);
  }
}

bool ComponentSubject::begin(const replayer::ComponentOptions& options) {
  component_ = options.component;
  if (component_ == Component::kCell) return cells_.begin(options.region_bytes);
  if (component_ == Component::kCompact) return compact_.begin(options.not_full);
  return component_ == Component::kPool;
}

void* ComponentSubject::allocate(Operation operation, std::size_t size, std::size_t alignment) {
  if (operation == Operation::kValloc || operation == Operation::kPvalloc) alignment = kPage;
  if (operation == Operation::kPvalloc) size = (size + kPage - 1) / kPage * kPage;
  if (!std::has_single_bit(alignment)) alignment = 0;
  void* const block = with_heap([&](auto& heap) { return heap.allocate(size, alignment); });
  if (operation == Operation::kCalloc && block != nullptr)
    with_heap([&](auto& heap) { return std::memset(heap.address_of(block), 0, size); });
  return block;
}

void* ComponentSubject::reallocate(Operation operation, void* block, std::size_t size_before, std::size_t size) {
  if (block != nullptr && size == 0) {
    free(operation, block, size_before, 0);
    return nullptr;
  }
  return with_heap([&](auto& heap) { return heap.reallocate(block, size_before, size); });
}

void ComponentSubject::free(Operation /*operation*/, void* block, std::size_t size, std::size_t /*alignment*/) {
  if (block == nullptr) return;
  with_heap([&](auto& heap) { return heap.deallocate(block, size); });
}

std::size_t ComponentSubject::usable_size(void* block) {
  return with_heap([&](auto& heap) { return heap.usable_size(block); });
}

// Writes under the lock, as calls of other threads may move blocks.
void ComponentSubject::write(void* block, std::size_t from, std::size_t count) {
  with_heap([&](auto& heap) { return std::memset(static_cast<std::byte*>(heap.address_of(block)) + from, 1, count); });
}

void* ComponentSubject::address_of(void* block) {
  return with_heap([&](auto& heap) { return heap.address_of(block); });
}

}  // namespace snug::components
