// The composition root: every part of the allocator, each built on the ones above it. One object of static storage,
// ready before any constructor has run; open() starts it with the first allocation.
#pragma once

#include "allocator/background_thread.h"
#include "allocator/config.h"
#include "allocator/fork_order.h"
#include "allocator/layout_note.h"
#include "allocator/peak.h"
#include "allocator/pressure.h"
#include "base/atomic.h"
#include "base/lock.h"
#include "base/text.h"
#include "checked/block_note.h"
#include "checked/guarded_pages.h"
#include "checked/quarantine.h"
#include "checked/stack_depot.h"
#include "control/control_thread.h"
#include "heap/user_heaps.h"
#include "os/open_streams.h"
#include "profile/heap_profile.h"
#include "realtime/deferred_frees.h"
#include "realtime/real_time_parts.h"
#include "size/class_table.h"
#include "slab/heap_registry.h"
#include "span/footprint.h"
#include "span/large_blocks.h"
#include "span/mapping_store.h"
#include "span/meta_arena.h"
#include "span/page_map.h"
#include "span/span_stores.h"
#include "thread/array_store.h"
#include "thread/cache_revocation.h"
#include "thread/thread_cache_list.h"

namespace snug {

struct Allocator {
  MetaArena arena;
  PageMap page_map;
  Footprint footprint{arena};
  SpanStores spans{arena, page_map, footprint};
  MappingStore mappings{arena, spans.bytes_grown(), footprint};
  LargeBlocks large_blocks{spans, mappings};
  HeapRegistry registry{arena, spans};
  ArrayStores arrays{arena};
  ThreadCacheList caches{arena, registry, arrays};
  CacheRevocation revocation{registry};
  UserHeaps user_heaps{arena, spans, arrays.first()};      // those that the program makes
  Pressure pressure;                                       // with callbacks
  alignas(kCacheLine) RealTimeParts real_time{footprint};  // of threads with deadlines
  alignas(kCacheLine) DeferredFrees deferred;              // which those leave to others
  ControlThread control;                                   // with publish:on, profile_at or profile_signal
  BackgroundThread background;

  alignas(kCacheLine) Atomic<uint64_t> shared_allocations{0};  // by threads without a cache

  // Every slow operation reads these; nothing writes them once the allocator is open, but change_settings() some.
  alignas(kCacheLine) Config config;
  uint32_t config_set = 0;      // bits of the keys that the environment set
  uint32_t config_changed = 0;  // of those that change_settings() has
  const ClassTable* table = &kRoomyTable;
  size_t most_memory = SIZE_MAX;   // bytes: a request beyond this cannot be served
  size_t memory_limit = SIZE_MAX;  // bytes that the process might have at its start

  // Used with check:on and check:stacks.
  BlockNotes notes;
  StackDepot stacks;  // with check:stacks
  Quarantine quarantine;
  // Used with check:sample.
  GuardedPages guarded;

  Peak peak;                          // used with report
  HeapProfile profile{arena, spans};  // used once it was started

  LayoutNote layout{this, layout_of_records(sizeof(Allocator))};

  // Reads the configuration and opens every part. False if the OS refuses; the next allocation tries again.
  bool open();
  bool is_open() const { return open_.load(kAcquire); }
  bool ensure_open() { return is_open() || open(); }
  // True if the allocator is open and blocks are handed out unchecked. The most frequent slow paths ask this.
  bool is_plain() const { return plain_.load(kAcquire); }
  // True if it is open and every block is checked (allocator/checked_blocks.h).
  bool is_checked() const { return checked_.load(kRelaxed); }
  // ensure_open() at the end of the process. A signal handler may have called exit() in the middle of open(): then this
  // does not wait for the lock, which the interrupted code holds.
  bool ensure_open_at_exit() { return is_open() || (!opening_.is_held() && open()); }
  // The setting, which may change while the process runs.
  uint32_t purge_after() { return AtomicRef<uint32_t>(config.purge_after).load(kRelaxed); }

  // Lets the derived operators (thread/hot_page.h) take the inline paths too, when the allocator opens if it has not.
  // Called as the program is loaded, where it replaces none of the forms that define them.
  void let_derived_operators_in();

  // Starts the heap profile. 0, or why it cannot: EINVAL, ENOMEM or ENOTSUP.
  int start_profile(size_t distance);
  void stop_profile();

  // Changes settings as SNUG_CONF has them, those that may change. 0; or, and nothing has changed, EPERM for another
  // key or EINVAL for a mistake, which the message tells, or ENOMEM. The caller holds no lock.
  int change_settings(const char* text, Text<256>& message);

  // Where a key of kConfigTable has its value from, a word for people.
  const char* origin_of(size_t key) const;

  // Makes page and thread for tools, or for profiles, if they are asked for and are not there. `is_unfiltered` as
  // ControlThread::start() has it. The caller holds no lock.
  void start_control(bool is_unfiltered);

  // Registers the fork handlers, if possible before any other library does.
  void watch_forks();

  // With profile_signal, sets up its handler. Called without a lock when the allocator has opened; only the first call
  // does anything.
  void watch_signal();

  // Called before the first block is handed out on a guarded page; not earlier, so that it finds a fault handler of the
  // program's. Any thread may call it, as often as it likes: only the first call registers the handler. The caller
  // holds no lock.
  void watch_faults();

  // Called after a large block was freed or resized, without a lock: purges what is overdue of kept mappings and tails.
  void purge_kept_mappings() { mappings.purge_as_due(); }

  // The maintenance at the end of each slow operation that has taken memory, without a lock: a program that does
  // nothing else calls nothing else that would do it. A load and a test each, if nothing is due. The first is for
  // operations in which the program does not expect its callbacks.
  void maintain_quietly() {
    arena.stock_as_due();          // records for the next operation, which may hold a lock when it needs them
    mappings.purge_for_growth();   // kept large blocks, of which small ones cannot use the memory, as these grow
    mappings.purge_as_due();       // and for their age
    background.start_if_wanted();  // the background thread, if one was called for
  }
  void maintain() {
    maintain_quietly();
    relieve_if_passed();
  }

  void relieve_if_passed() {
    if (footprint.soft_limit().is_passed()) [[unlikely]]
      relieve_as_passed();
  }
  // Once the soft limit is passed one thread gives back what is empty, of all threads, and asks the program's callbacks
  // to free memory. The caller holds no lock; errno stays.
  SNUG_COLD void relieve_as_passed();
  // The limits as they are set; follows the container where they are automatic, for which it reads files.
  void bound_footprint();
  bool follows_container();
  // For the background thread, in each round: looks at the container and at how long tasks wait for memory.
  bool watches_memory() { return config.pressure != 0 || follows_container(); }
  void watch_memory();

  // Frees some of the blocks that threads with deadlines have left to others. The caller holds no lock.
  void free_deferred();
  // The same for many, without the calling thread's cache.
  void take_deferred_home();

  // True if no thread holds a lock that sending blocks home may wait for.
  bool is_at_rest() { return registry.is_at_rest() && !spans.are_held() && !arena.lock().is_held(); }

  // For a fork: take every lock, in order, before it and drop them after it, so that the child finds all parts at rest.
  void before_fork();
  void after_fork_in_parent();
  void after_fork_in_child();

 private:
  friend class ForkOrder<Allocator>;
  using Streams = os::OpenStreams;
  using ForkLock = Lock;

  bool open_parts() SNUG_REQUIRES(opening_);
  void bound_heaps();
  void open_checks() SNUG_REQUIRES(opening_);
  void open_real_time();
  void open_inline_paths() SNUG_REQUIRES(opening_);
  void open_paths_of_derived() SNUG_REQUIRES(opening_);
  void unlock_leaves();  // the locks that a fork takes behind ForkOrder's
  int begin_profile(size_t distance) SNUG_REQUIRES(opening_);
  void bound_memory();
  Retained bound_stores(uint32_t keys);

  Atomic<bool> open_{false};
  Atomic<bool> plain_{false};
  Atomic<bool> checked_{false};
  Atomic<bool> watches_forks_{false};
  Atomic<bool> watches_faults_{false};
  Atomic<bool> watches_signal_{false};
  bool configured_ = false;
  bool derives_operators_ = false;  // under opening_
  uint32_t watched_at_ = 0;         // milliseconds; the background thread's
  bool forks_alone_ = false;        // between the handlers of one fork; with other threads under opening_
  Lock opening_;
};

SNUG_HIDDEN extern constinit Allocator allocator;

// What the inline paths need of the parts above, copied when the allocator opens. Separate variables: a member of a
// larger object would cost a pointer to that, one instruction on each free.
SNUG_HIDDEN extern constinit uintptr_t page_map_base;
SNUG_HIDDEN extern constinit size_t page_map_pages;
SNUG_HIDDEN extern constinit size_t derived_page_map_pages;  // the same for PathOf::kDerivedOperator
SNUG_HIDDEN extern constinit const Atomic<ScaledClass>* page_map_classes;

template <PathOf path>
SNUG_ALWAYS_INLINE size_t& page_map_pages_of() {
  return path == PathOf::kFunction ? page_map_pages : derived_page_map_pages;
}

}  // namespace snug
