#include "span/span_stores.h"

#include "base/algorithm.h"
#include "base/in_place.h"
#include "os/clock.h"

namespace snug {
namespace {

bool is_nothing(const SpanBatch& batch) { return batch.empty(); }
bool is_nothing(const void* start) { return start == nullptr; }

}  // namespace

uint8_t SpanStores::home_of(size_t heap) {
  const size_t home = heap % most_;
  if (home >= made()) [[unlikely]] {
    const LockGuard guard(making_);
    while (home >= made() && make_next()) {
    }
  }
  return static_cast<uint8_t>(min(home, made() - 1));
}

bool SpanStores::make_next() {
  const size_t number = made();
  void* const memory = arena_.allocate(sizeof(SpanStore));
  if (memory == nullptr) return false;
  auto* const store =
      ::new (InPlace{memory}) SpanStore(arena_, page_map_, footprint_, totals_, bounds_, static_cast<uint8_t>(number));
  hold_with(making_, store->lock());
  others_[number - 1].store(store, kRelease);
  totals_.stores.store(number + 1, kRelease);
  return true;
}

Span* SpanStores::allocate(uint8_t home, PageCount pages, PageCount alignment) {
  return allocate_some(home, pages, alignment, Paging::kSmall, 1).front();
}

// What costs no fault comes first, whichever store has it: none takes new memory beside what another keeps. Then new
// memory of the home, and at last whatever the others have.
template <class Take>
auto SpanStores::from_any(uint8_t home, PageCount pages, PageCount alignment, Take take) {
  const size_t stores = made();
  const auto has_dirty = [&](size_t i) { return at(i).has_dirty(pages, alignment); };
  if (stores != 1 && !has_dirty(home)) {
    for (size_t i = 0; i != stores; ++i) {
      if (!has_dirty(i)) continue;
      if (auto taken = take(at(i), SpanStore::Wanted::kDirty); !is_nothing(taken)) return taken;
    }
  }
  auto taken = take(at(home), SpanStore::Wanted::kAny);
  // What the limit refuses one store, it refuses all.
  for (size_t i = 0; is_nothing(taken) && i != stores && footprint_.has_room(pages.bytes()); ++i)
    if (i != home) taken = take(at(i), SpanStore::Wanted::kAny);
  return taken;
}

SpanBatch SpanStores::allocate_some(uint8_t home, PageCount pages, PageCount alignment, Paging paging, size_t most) {
  return from_any(home, pages, alignment, [&](SpanStore& store, SpanStore::Wanted wanted) {
    return store.allocate_some(pages, alignment, paging, most, wanted);
  });
}

void* SpanStores::allocate_run(uint8_t home, PageCount pages, PageCount alignment) {
  if (pages.value > kPagesPerChunk) return first_.allocate_run(pages, alignment);
  return from_any(home, pages, alignment, [&](SpanStore& store, SpanStore::Wanted wanted) {
    return store.allocate_run(pages, alignment, wanted);
  });
}

void SpanStores::free_all(SpanBatch& batch) {
  while (!batch.empty()) {
    SpanStore& store = of(batch.front()->first);
    if (made() == 1) return store.free_all(batch);
    SpanBatch its;
    SpanBatch rest;
    while (Span* const span = batch.pop_front()) (&of(span->first) == &store ? its : rest).push_back(span);
    store.free_all(its);
    while (Span* const span = rest.pop_front()) batch.push_back(span);
  }
  age_another();
}

// What is overdue in a store of which the threads rest goes with the frees of others, where no background thread looks
// after it: of one store at a time, each for a moment.
void SpanStores::age_in_turn() {
  constexpr uint32_t kMoment = 16;  // milliseconds
  at(os::milliseconds() / kMoment % made()).purge_overdue();
}

bool SpanStores::release_addresses() {
  bool any = false;
  for_each([&](SpanStore& store) { any = store.release_addresses() || any; });
  return any;
}

void SpanStores::stock_arena() {
  for_each([](SpanStore& store) { store.stock_arena(); });
}

// Of the pad each store keeps what those behind it do not.
size_t SpanStores::purge(size_t pad, size_t most) {
  const size_t stores = made();
  size_t behind = 0;
  if (pad != 0) for_each([&](SpanStore& store) { behind += store.bytes_to_purge(); });
  size_t given = 0;
  for (size_t i = 0; i != stores && given < most; ++i) {
    if (pad != 0) behind -= min(behind, at(i).bytes_to_purge());
    given += at(i).purge(pad - min(pad, behind), most - given);
  }
  return given;
}

// Of the first store that has something to give.
template <class Act>
Purge SpanStores::first_of(Act act) {
  Purge answer = Purge::kNotDue;
  for (size_t i = 0, end = made(); i != end && answer != Purge::kDone; ++i)
    if (const Purge one = act(at(i)); one != Purge::kNotDue) answer = one;
  return answer;
}

Purge SpanStores::purge_overdue() {
  return first_of([](SpanStore& store) { return store.purge_overdue(); });
}

Purge SpanStores::purge_excess() {
  return first_of([](SpanStore& store) { return store.purge_excess(); });
}

bool SpanStores::ages() {
  bool ages = false;
  for_each([&](SpanStore& store) { ages = ages || store.ages(); });
  return ages;
}

SpanStatistics SpanStores::statistics() {
  SpanStatistics all;
  for_each([&](SpanStore& store) {
    const SpanStatistics one = store.statistics();
    all.chunks += one.chunks;
    all.bytes_dirty += one.bytes_dirty;
    all.bytes_free += one.bytes_free;
    all.bytes_purged += one.bytes_purged;
    all.bytes_refaulted += one.bytes_refaulted;
    all.runs += one.runs;
    all.bytes_in_runs += one.bytes_in_runs;
  });
  // What is taken and comes back unwritten is still with the OS, and counts each time: no more was missed than went.
  all.bytes_refaulted = min(all.bytes_refaulted, all.bytes_purged);
  return all;
}

const char* SpanStores::check() {
  if (made() > most_) return "span stores: there are more than may be";
  const char* broken = nullptr;
  for_each([&](SpanStore& store) {
    if (broken == nullptr) broken = store.check();
  });
  return broken;
}

bool SpanStores::are_held() {
  bool any = making_.is_held();
  for_each([&](SpanStore& store) { any = any || store.lock().is_held(); });
  return any;
}

void SpanStores::lock_at_rest() SNUG_UNPROVED {
  making_.lock_for_fork();
  for_each([](SpanStore& store) SNUG_UNPROVED { store.lock_at_rest(); });
}

void SpanStores::unlock_after_fork() SNUG_UNPROVED {
  for_each([](SpanStore& store) SNUG_UNPROVED { store.lock().unlock_after_fork(); });
  making_.unlock_after_fork();
}

}  // namespace snug
