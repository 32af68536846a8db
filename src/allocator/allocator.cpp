#include "allocator/allocator.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "allocator/config_keys.h"
#include "allocator/control_answers.h"
#include "allocator/profile_output.h"
#include "base/algorithm.h"
#include "base/atomic.h"
#include "base/fatal.h"
#include "base/in_place.h"
#include "base/text.h"
#include "heap/user_heaps.h"
#include "os/fault.h"
#include "os/memory.h"
#include "os/memory_limit.h"
#include "os/process.h"
#include "os/thread.h"
#include "os/told_signal.h"
#include "thread/array_store.h"
#include "thread/head_table.h"

namespace snug {
namespace {

// By default so many heaps for each processor: two threads that run at the same time hardly ever want the same one.
constexpr size_t kHeapsACore = 4;

static_assert(kMostCached < ArrayStore::kMostPlaces,
              "an array has room for what a class may cache and the block in hand");

// The class table made from a map's file. Not a member of the allocator, which would make the library's image longer.
constinit ClassTable file_table;

const ClassTable* class_table(const Config& config) {
  switch (config.classes) {
    case ClassMap::kDense:
      return &kDenseTable;
    case ClassMap::kFile:
      file_table = make_class_table(config.file_classes);
      return &file_table;
    default:
      return &kRoomyTable;
  }
}

// No processor of today has larger ones in use, and nothing was tried on them.
void refuse_large_os_pages() {
  if (os::page_size() <= kLargestOsPage) return;
  Text<160> line;
  line.add("snug: cannot run on pages of ")
      .add(uint64_t{os::page_size() / 1024})
      .add(" KiB, as this kernel has them; the most is ");
  line.add(uint64_t{kLargestOsPage / 1024}).add(" KiB\n");
  write_line(line.data(), line.size());
  abort();
}

void thread_ends(void*) {
  if (own_part != nullptr) allocator.real_time.leave();
  allocator.user_heaps.end_caches();
  if (!allocator.caches.end_own()) return;
  if (allocator.config.idle_thread != BackgroundThreadMode::kOff) allocator.background.thread_ended();
}

}  // namespace

constinit Allocator allocator;
// Until the allocator is open no pointer lies in the window: the first calls take the slow path. Where a thread may see
// the limit before the base, no pointer lies above the first base either. A block of the heap's comes to a thread
// behind all three.
constinit uintptr_t page_map_base = kOrdersPlainAccesses ? 0 : uintptr_t{1} << 63;
constinit size_t page_map_pages = 0;
constinit size_t derived_page_map_pages = 0;
constinit const Atomic<ScaledClass>* page_map_classes = nullptr;

// libc's functions are called before or after the hold of the lock: an interposer may have replaced them, and may
// allocate while the allocator is not open yet.
bool Allocator::open() {
  os::learn_start();
  if (!caches.make_key(thread_ends)) return false;
  {
    LockGuard guard(opening_);
    if (!is_open() && !open_parts()) return false;
  }
  watch_forks();
  watch_signal();
  return true;
}

void Allocator::watch_signal() {
  if (config.profile_signal == 0 || watches_signal_.exchange(true)) return;
  if (os::await_signal(config.profile_signal, tell_of_profile_signal)) return;
  Text<160> line;
  line.add("snug: SNUG_CONF: profile_signal: signal ").add(uint64_t{config.profile_signal});
  line.add(" has a handler already, or is ignored, and stays as it is\n");
  complain_of_refusal(line.data(), line.size());
}

void Allocator::watch_faults() {
  if (watches_faults_.exchange(true)) return;
  os::tell_faults([](const void* address) {
    if (allocator.guarded.contains(address)) allocator.guarded.report(address);
  });
}

// Fork handlers that are registered later run before ours takes the locks, and after ours has dropped them, so that
// they may allocate, or wait for a thread that does. Registering may itself allocate.
void Allocator::watch_forks() {
  if (watches_forks_.exchange(true)) return;
  ::pthread_atfork([] { allocator.before_fork(); }, [] { allocator.after_fork_in_parent(); },
                   [] { allocator.after_fork_in_child(); });
}

// The OS may refuse each step; the next allocation then tries it again.
bool Allocator::open_parts() {
  refuse_large_os_pages();
  os::learn_processors();
  if (!configured_) config = read_config(&config_set);
  configured_ = true;
  table = class_table(config);
  if (page_map.page_limit() == 0 && !page_map.open()) return false;
  os::answers_for_addresses();  // has its page from now on, whatever the OS refuses later
  if (config.check != Checking::kOff) arena.guard();
  arena.stock_as_due();
  if (!registry.open(*table)) return false;
  user_heaps.open(*table);
  bound_heaps();
  bound_memory();
  if (config.publish) control.open(answer_tool, room_of_answer);
  if (config.publish) caches.number_threads();
  if (config.writes_profiles()) control.open_for_work(write_profile_as_told);
  if (control.is_open() || watches_memory()) config.idle_thread = BackgroundThreadMode::kOn;
  if (control.is_open()) background.invite();
  if (config.idle_thread != BackgroundThreadMode::kOff) {
    background.open(config.idle_thread);
    spans.bounds().wake_event = mappings.bounds().wake_event = &background.wake_event();
    registry.set_wake_event(background.wake_event());
  }
  if (config.report[0] != 0 && config.reporting == Reporting::kStatistics) peak.watch(arena);
  if (config.profile_at != 0) peak.tell_growth(config.profile_at, [] { allocator.control.nudge(); });
  open_checks();
  open_real_time();
  open_.store(true, kRelease);
  return true;
}

// Asks the OS at the start, as a filter of system calls may forbid it later. Without an answer heaps have no bound, and
// there is one span store.
void Allocator::bound_heaps() {
  const size_t heaps = config.heaps != 0 ? config.heaps : kHeapsACore * os::usable_core_count();
  if (heaps != 0) registry.bound(heaps);
  const size_t stores = config.stores != 0 ? config.stores : os::usable_core_count() / SpanStores::kProcessors;
  spans.bound(page_map.has_addresses_to_spare() ? stores : 1);
}

// Opens what the configured checks need. If every block is checked, the inline paths stay closed.
void Allocator::open_checks() {
  if (config.check == Checking::kOn || config.check == Checking::kStacks) {
    const bool keeps_stacks = config.check == Checking::kStacks;
    quarantine.open(config.quarantine, arena);
    if (keeps_stacks) stacks.open(arena);
    notes.open(os::random_seed(), keeps_stacks);
    checked_.store(true, kRelaxed);
    return;
  }
  if (config.check == Checking::kSample) guarded.open(arena, os::random_seed());
  // A guarded or sampled block, or one of the real-time region, would be cached by its size, unseen.
  if (config.check == Checking::kSample || config.profile != 0 || config.profile_rt != 0)
    config.sized_delete = SizedDelete::kCheck;
  open_inline_paths();
  plain_.store(!peak.is_wanted(), kRelease);
  if (config.profile != 0) begin_profile(config.profile);
}

// With profile_rt. A process without the region goes on without it, and says so: its threads would miss deadlines.
void Allocator::open_real_time() {
  if (config.profile_rt == 0 || is_checked()) return;
  if (real_time.make(config.profile_rt) != 0) {
    Text<128> line;
    const bool is_refused = !footprint.has_room(config.profile_rt);
    line.add("snug: SNUG_CONF: profile_rt: ")
        .add(is_refused ? "the limit has no room for a region of " : "no memory for a region of ")
        .add(uint64_t{config.profile_rt})
        .add(" bytes\n");
    return complain_of_refusal(line.data(), line.size());
  }
  real_time.watch_policies();
}

// A malloc takes small blocks from trays now, and every other request, of which plain_ is asked, a slow path.
int Allocator::begin_profile(size_t distance) {
  if (config.sized_delete == SizedDelete::kTrust) return ENOTSUP;
  if (!profile.start(distance, *table)) return ENOMEM;
  plain_.store(false, kRelease);
  lead_to_trays(*table);
  return 0;
}

int Allocator::start_profile(size_t distance) {
  if (distance < SampleDistance::kLeastMean || distance > SampleDistance::kMostMean) return EINVAL;
  if (!ensure_open()) return ENOMEM;
  if (is_checked()) return ENOTSUP;
  LockGuard guard(opening_);
  return begin_profile(distance);
}

void Allocator::stop_profile() {
  if (!ensure_open() || is_checked()) return;
  LockGuard guard(opening_);
  lead_to_arrays(*table);
  profile.stop();
  plain_.store(!peak.is_wanted(), kRelease);
}

// Until this is called every call takes a slow path.
void Allocator::open_inline_paths() {
  const bool has_heads = fill_head_table(*table);
  page_map_base = page_map.base();
  page_map_classes = page_map.classes();
  if constexpr (kHasPageAddress) {
    hot_page.base = page_map_base;
    hot_page.derived_base = page_map_base;
    hot_page.classes = page_map_classes;
    // Nothing orders the loads of the inline paths. Those of other threads that are under way by now have ended then.
    thread_fence(kSeqCst);
    if (!os::is_alone()) DrainClock::await(DrainClock::milliseconds(), CacheRevocation::kDrained);
  }
  // With a report every request takes a slow path: behind the table nothing knows its size to the byte.
  // Another thread may be in a request that has seen no table yet (thread/head_table.h).
  if (!os::is_single_threaded()) config.sized_delete = SizedDelete::kCheck;
  if (has_heads && !peak.is_wanted()) open_head_table();
  // The limit is set last: until then no inline path reads the others.
  compiler_fence(kRelease);
  page_map_pages = page_map.page_limit();
  if constexpr (kHasPageAddress) {
    if (has_heads) AtomicRef<size_t>(hot_page.pages).store(page_map_pages, kRelease);
  }
  if (derives_operators_) open_paths_of_derived();
}

// Copies the limits as they stand: 0 where the allocator is not open yet, or keeps its own paths closed.
void Allocator::open_paths_of_derived() {
  open_derived_head_table(config.sized_delete);
  AtomicRef<size_t>(derived_page_map_pages).store(page_map_pages, kRelease);
  if constexpr (kHasPageAddress) AtomicRef<size_t>(hot_page.derived_pages).store(hot_page.pages, kRelease);
}

void Allocator::let_derived_operators_in() {
  LockGuard guard(opening_);
  derives_operators_ = true;
  open_paths_of_derived();
}

// Bounds what the stores and the caches keep by how much memory the process may have. That is read at the start too, as
// it stands in files.
void Allocator::bound_memory() {
  most_memory = min(os::total_memory_and_swap(), os::address_space_limit());
  memory_limit = min(os::memory_limit(), most_memory);
  bound_footprint();
  const Retained retained = bound_stores(config_set);
  caches.open({retained.cache, retained.caches, config.batch});
}

Retained Allocator::bound_stores(uint32_t keys) {
  const Retained retained = retained_within(min(memory_limit, footprint.limit()), config, keys);
  spans.bounds().set(retained.pages.bytes, retained.pages_in_use, retained.pages.by_age, config.purge_after);
  mappings.bounds().set(retained.large.bytes, 0, retained.large.by_age, config.purge_after);
  return retained;
}

void Allocator::start_control(bool is_unfiltered) {
  const ScopePause pause;  // as for the background thread
  bool has_page = false;
  {
    // A fork waits, so that its child knows of the page.
    const LockGuard guard(opening_);
    if (!control.is_wanted()) return;
    has_page = control.make_page();
  }
  if (has_page && control.start(is_unfiltered)) return;
  constexpr char kLine[] =
      "snug: the OS refuses the thread, or its memory, for publish, profile_at and profile_signal: they have no "
      "effect\n";
  static constinit Atomic<bool> is_told{false};  // once for the process and its children: each new thread tries again
  if (!is_told.exchange(true, kRelaxed)) write_line(kLine, sizeof kLine - 1);
  if (!has_page) return;
  const LockGuard guard(opening_);
  control.hide_page();
}

int Allocator::change_settings(const char* text, Text<256>& message) {
  if (!ensure_open()) return ENOMEM;
  // Not on the caller's stack, which may be small.
  static constinit Text<256> complaint;
  static constinit Config wanted;
  const LockGuard guard(opening_);
  complaint = {};
  uint32_t keys = 0;
  uint32_t refused = 0;
  new (InPlace{&wanted})
      Config(parse_config(text, &keys, [](const char* line, size_t length) { complaint.add(line, length); }, &refused));
  message = complaint;
  if (refused != 0) return EPERM;
  if (message.size() != 0 || keys == 0) return EINVAL;
  const bool will_follow = (has_key(keys, kLimit) && wanted.limit == Config::kAutomatic) ||
                           (has_key(keys, kSoftLimit) && wanted.soft_limit == Config::kAutomatic);
  if (will_follow && config.idle_thread != BackgroundThreadMode::kOn) {
    message.add(
        "snug: SNUG_CONF: auto is for the process's start, or with idle_thread:on, as a thread follows the "
        "container\n");
    return EINVAL;
  }
  take_changes(config, wanted, keys);
  store_shared(config_changed, config_changed | keys);
  bound_footprint();
  bound_stores(config_set | config_changed);
  background.wake_event().rouse();
  return 0;
}

const char* Allocator::origin_of(size_t key) const {
  if (has_key(load_shared(config_changed), key)) return "changed";
  return has_key(config_set, key) ? "SNUG_CONF" : "default";
}

void Allocator::before_fork() SNUG_UNPROVED {
  background.be_alone();  // programs look how many threads they fork beside
  peak.before_fork();
  // A single thread needs no lock, and may be forking in a signal handler that has interrupted it in a hold of one.
  if (os::is_alone() && !background.may_exist()) {
    forks_alone_ = true;
    return background.before_fork();
  }
  ForkOrder<Allocator>::before(*this);
  quarantine.lock_for_fork();
  guarded.lock().lock_for_fork();
  profile.lock().lock_for_fork();
  pressure.lock().lock_for_fork();
  deferred.lock().lock_for_fork();
  real_time.lock().lock_for_fork();
  forks_alone_ = false;  // under our first lock
}

void Allocator::unlock_leaves() SNUG_UNPROVED {
  real_time.lock().unlock_after_fork();
  deferred.lock().unlock_after_fork();
  pressure.lock().unlock_after_fork();
  profile.lock().unlock_after_fork();
  guarded.lock().unlock_after_fork();
  quarantine.unlock_after_fork();
}

void Allocator::after_fork_in_parent() SNUG_UNPROVED {
  if (forks_alone_) return background.after_fork_in_parent();
  unlock_leaves();
  ForkOrder<Allocator>::after_in_parent(*this);
}

void Allocator::after_fork_in_child() SNUG_UNPROVED {
  forget_calling_thread();
  real_time.lose_others();
  deferred.cut_pending();
  pressure.after_fork_in_child();
  unlock_leaves();
  if (forks_alone_)
    background.after_fork_in_child();
  else
    ForkOrder<Allocator>::after_in_child(*this);
  revocation.after_fork_in_child();
  peak.after_fork_in_child();
  control.after_fork_in_child();
  forget_profiles_written();
  footprint.soft_limit().after_fork();
  if (!forks_alone_) user_heaps.note_child();
  shared_allocations.store(0, kRelaxed);  // the child counts its own
  if (!is_open()) return;
  if (control.is_open()) background.invite();
  caches.count_anew();
  caches.number_own();
  if (!forks_alone_) caches.orphan_others();
}

}  // namespace snug
