#include "heap/store.h"

namespace snug {
namespace {

void thread_ends(void* cache) { store.roster.end(static_cast<ThreadCache*>(cache)); }

}  // namespace

constinit Store store;
// Until the store is open no pointer lies in the window and no size is medium: the first calls take the slow paths.
constinit uintptr_t window_base = 0;
constinit size_t window_pages = 0;
constinit const std::atomic<ScaledClass>* window_classes = nullptr;
constinit size_t medium_max_size = 0;
constinit ptrdiff_t medium_offset = 0;

bool Store::open() {
  LockGuard guard(opening_);
  if (is_open()) return true;
  config = read_config(&config_set);
  table = config.classes == ClassMap::kDense ? &kDenseTable : &kRoomyTable;
  if (window.page_limit() == 0 && !window.open()) return false;
  if (!registry.open(*table) || !roster.open(thread_ends, config.cache)) return false;
  spans.set_retention({config.retain, config.purge_after});
  large.set_retention({config.retain_large, config.purge_after});
  window_base = window.base();
  window_pages = window.page_limit();
  window_classes = window.classes();
  medium_max_size = table->max_size;
  medium_offset = table->medium_offset;
  open_.store(true, std::memory_order_release);
  return true;
}

void Store::before_fork() {
  opening_.lock();
  if (!is_open()) return;
  roster.lock_at_rest();
  registry.lock_all();
  large.lock_at_rest();
  spans.lock_for_fork().lock();
  arrays.lock_for_fork().lock();
  arena.lock_for_fork().lock();
}

void Store::unlock_all() {
  if (is_open()) {
    arena.lock_for_fork().unlock();
    arrays.lock_for_fork().unlock();
    spans.lock_for_fork().unlock();
    large.unlock();
    registry.unlock_all();
    roster.unlock();
  }
  opening_.unlock();
}

void Store::after_fork_in_parent() { unlock_all(); }

void Store::after_fork_in_child() {
  unlock_all();
  shared_allocations.store(0, std::memory_order_relaxed);  // the child counts its own
  if (is_open()) roster.orphan_others();
}

}  // namespace snug
