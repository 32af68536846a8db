#include "profile/heap_profile.h"

#include <string.h>

#include "base/algorithm.h"
#include "base/in_place.h"
#include "os/clock.h"
#include "os/map_line.h"

namespace snug {
namespace {

// True for libsnug.so, in whatever folder and version.
bool is_drop_in(const char* path) {
  constexpr char kName[] = "/libsnug";
  const char* last = strrchr(path, '/');
  return last != nullptr && strncmp(last, kName, sizeof kName - 1) == 0;
}

static_assert((uint64_t{1} << (64 - 50)) == (1u << 14), "a bucket's number is the upper bits of a hash");

}  // namespace

void HeapProfile::strip(SampledStack& stack) const {
  uint32_t own = 0;
  while (own != stack.count && stack.frames[own] - own_code_ < own_code_end_ - own_code_) ++own;
  stack.count -= own;
  memmove(stack.frames, stack.frames + own, stack.count * sizeof stack.frames[0]);
}

bool HeapProfile::start(size_t mean, const ClassTable& table) {
  bool is_new;
  {
    const LockGuard guard(lock_);
    is_new = state_ == nullptr;
  }
  if (is_new) {
    constexpr size_t kState = round_up(sizeof(State), kCacheLine);
    auto* const memory = static_cast<char*>(arena_.allocate(kState + kBuckets * sizeof(Sample*)));
    if (memory == nullptr) return false;
    State* const state = ::new (InPlace{memory}) State;
    state->buckets = reinterpret_cast<Sample**>(memory + kState);
    state->started_ns = os::nanoseconds_since_1970();
    pages_.open(table);
    const auto here = reinterpret_cast<uintptr_t>(&is_drop_in);
    os::for_each_map_line([&](const os::MapLine& line) {
      if (here < line.start || here >= line.end) return false;
      if (is_drop_in(line.path)) own_code_ = line.start;
      if (is_drop_in(line.path)) own_code_end_ = line.end;
      return true;
    });
    const LockGuard guard(lock_);
    state_ = state;
  }
  mean_set_.store(mean, kRelaxed);
  mean_.store(mean, kRelease);
  return true;
}

void* HeapProfile::take_block(size_t size_class) {
  Slab* record;
  {
    const LockGuard guard(lock_);
    if (void* const block = pages_.take(size_class); block != nullptr) return block;
    record = pages_.take_record();
  }
  Slab* const page = pages_.make_page(size_class, record);
  const LockGuard guard(lock_);
  if (page == nullptr) {
    if (record != nullptr) pages_.put_back_record(record);
    return nullptr;
  }
  pages_.add(page);
  return pages_.take(size_class);
}

// Memory that the next sample may need; 0 if all is there.
size_t HeapProfile::bytes_wanted() {
  if (state_->free == nullptr) return kSamplesAtOnce * sizeof(Sample);
  if (state_->sites.left() == 0 && state_->sites.may_grow()) return ChunkedRow<Site>::kChunkBytes;
  return state_->tree.bytes_wanted();
}

void HeapProfile::grow(void* memory, size_t bytes) {
  if (state_->free == nullptr) {
    for (size_t i = 0; i != kSamplesAtOnce; ++i) {
      auto* const sample = ::new (InPlace{static_cast<char*>(memory) + i * sizeof(Sample)}) Sample;
      sample->next = state_->free;
      state_->free = sample;
    }
  } else if (state_->sites.left() == 0 && state_->sites.may_grow()) {
    const bool is_new = state_->sites.size() == 0;
    state_->sites.grow(memory);
    if (is_new) state_->sites.add({});
  } else {
    state_->tree.grow(memory, bytes);
  }
}

// Has memory ready for one more sample. False if there is none; another thread may also have used it up again.
bool HeapProfile::make_ready() {
  for (;;) {
    size_t bytes;
    {
      const LockGuard guard(lock_);
      bytes = bytes_wanted();
    }
    if (bytes == 0) return true;
    void* const memory = arena_.allocate(bytes);
    if (memory == nullptr) return false;
    const LockGuard guard(lock_);
    // Another thread may have grown the same part meanwhile: the memory is lost then, which happens a few times.
    if (bytes_wanted() == bytes) grow(memory, bytes);
  }
}

uint32_t HeapProfile::site_of(const SampledStack& stack) {
  CallTree& tree = state_->tree;
  if (state_->sites.size() == 0) return 0;
  const uint32_t node = tree.keep(stack);
  if (node == 0) return 0;
  if (tree[node].site == 0) {
    if (state_->sites.left() == 0) return 0;
    Site site;
    site.node = node;
    tree[node].site = state_->sites.add(site);
  }
  return tree[node].site;
}

void HeapProfile::insert(const Sample& sample) {
  Sample* const place = state_->free;
  state_->free = place->next;
  *place = sample;
  Sample*& first = state_->buckets[bucket_of(sample.block)];
  place->next = first;
  first = place;
  Site& site = state_->sites[sample.site];
  ++site.samples;
  site.live.add(sample.weight, sample.size);
  state_->live.add(sample.weight, sample.size);
  if (state_->live.bytes > state_->peak + state_->peak / kPeakParts) state_->is_rising = true;
  live_.store(live_.load(kRelaxed) + 1, kRelaxed);
}

// Called before less becomes live than is now. O(sites), each time that a part more is live than at the last peak.
void HeapProfile::keep_peak() {
  state_->is_rising = false;
  state_->peak = state_->live.bytes;
  for (uint32_t i = 0; i != state_->sites.size(); ++i) state_->sites[i].peak = state_->sites[i].live;
}

// True if act() says so, which is called under the lock, with a record that is free. False without memory for one.
template <class Act>
bool HeapProfile::with_record(Act act) {
  for (;;) {
    const bool has_memory = make_ready();
    const LockGuard guard(lock_);
    if (state_->free != nullptr) return act();
    if (!has_memory) return false;  // else other threads have used it up
  }
}

bool HeapProfile::add(const Sample& sample, const SampledStack& stack) {
  return with_record([&]() SNUG_REQUIRES(lock_) {
    if (state_->sites.size() == 0) return false;
    Sample kept = sample;
    kept.site = site_of(stack);
    state_->sites[kept.site].allocated.add(kept.weight, kept.size);
    insert(kept);
    return true;
  });
}

bool HeapProfile::put_back(const Sample& sample) {
  return with_record([&]() SNUG_REQUIRES(lock_) {
    insert(sample);
    return true;
  });
}

bool HeapProfile::remove(const void* block, Sample* was) {
  const LockGuard guard(lock_);
  if (state_ == nullptr) return false;
  Sample** link = &state_->buckets[bucket_of(block)];
  while (*link != nullptr && (*link)->block != block) link = &(*link)->next;
  Sample* const sample = *link;
  if (sample == nullptr) return false;
  if (state_->is_rising) keep_peak();
  *link = sample->next;
  *was = *sample;
  sample->next = state_->free;
  state_->free = sample;
  Site& site = state_->sites[was->site];
  if (--site.samples == 0) {
    site.live = {};  // what rounding has left of it
  } else {
    site.live.add(-was->weight, was->size);
  }
  live_.store(live_.load(kRelaxed) - 1, kRelaxed);
  if (live_.load(kRelaxed) == 0)
    state_->live = {};
  else
    state_->live.add(-was->weight, was->size);
  return true;
}

HeapProfile::Place HeapProfile::look_up(const void* address) {
  if (pages_.page_of(address) == nullptr) return Place::kElsewhere;
  const LockGuard guard(lock_);
  const Slab* const page = pages_.page_of(address);
  if (page == nullptr) return Place::kFree;
  if (pages_.has_block_at(*page, address)) return Place::kBlock;
  return (address_of(address) - address_of(page->start)) % page->block_size == 0 ? Place::kFree : Place::kInside;
}

void HeapProfile::give_block(void* block) {
  Span* span;
  {
    const LockGuard guard(lock_);
    Slab* const page = pages_.page_of(block);
    if (page == nullptr || !pages_.has_block_at(*page, block)) return;
    span = pages_.give(*page, block);
  }
  if (span != nullptr) pages_.let_go(span);
}

bool HeapProfile::view_block(const void* address, BlockView& view) {
  const LockGuard guard(lock_);
  const Slab* const page = state_ != nullptr ? pages_.page_of(address) : nullptr;
  if (page == nullptr) return false;
  view = BlockView(*page, address);
  return true;
}

bool HeapProfile::view_sample(const void* block, Sample* sample, SampledStack* stack) {
  const LockGuard guard(lock_);
  if (state_ == nullptr) return false;
  const Sample* found = state_->buckets[bucket_of(block)];
  while (found != nullptr && found->block != block) found = found->next;
  if (found == nullptr) return false;
  *sample = *found;
  stack->count = 0;
  for (uint32_t node = state_->sites[found->site].node; node != 0 && stack->count != SampledStack::kMost;
       node = state_->tree[node].parent)
    stack->frames[stack->count++] = state_->tree[node].address;
  return true;
}

uint64_t HeapProfile::bytes_on_pages() {
  const LockGuard guard(lock_);
  return pages_.bytes_used();
}

uint64_t HeapProfile::blocks_on_pages() {
  const LockGuard guard(lock_);
  return pages_.blocks_used();
}

bool HeapProfile::copy(Copy* copy) {
  for (;;) {
    uint32_t nodes = 0;
    uint32_t sites = 0;
    {
      const LockGuard guard(lock_);
      if (state_ != nullptr) {
        nodes = state_->tree.size();
        sites = state_->sites.size();
      }
    }
    const size_t node_bytes = round_up(nodes * sizeof(CallTree::Node), 64);
    const size_t bytes = round_up(node_bytes + sites * sizeof(Site) + 1, size_t{64} << 10);
    void* const memory = arena_.map(bytes);
    if (memory == nullptr) return false;
    auto* const node = static_cast<CallTree::Node*>(memory);
    auto* const site = reinterpret_cast<Site*>(static_cast<char*>(memory) + node_bytes);
    {
      const LockGuard guard(lock_);
      const bool fits = state_ == nullptr || (state_->tree.size() == nodes && state_->sites.size() == sites);
      if (fits) {
        for (uint32_t i = 0; i != nodes; ++i) node[i] = state_->tree[i];
        if (state_ != nullptr && state_->is_rising) keep_peak();
        for (uint32_t i = 0; i != sites; ++i) site[i] = state_->sites[i];
        *copy = {memory, bytes, node, nodes, site, sites, 0, {}};
        if (state_ != nullptr) copy->started_ns = state_->started_ns;
        if (state_ != nullptr) copy->live = state_->live;
        return true;
      }
    }
    arena_.release(memory, bytes);
  }
}

const char* HeapProfile::check() {
  const LockGuard guard(lock_);
  if (state_ == nullptr) return nullptr;
  size_t live = 0;
  for (uint32_t i = 0; i != kBuckets; ++i)
    for (const Sample* sample = state_->buckets[i]; sample != nullptr; sample = sample->next, ++live)
      if (bucket_of(sample->block) != i) return "heap profile: a sample lies in a chain that is not its address's";
  size_t of_sites = 0;
  for (uint32_t i = 0; i != state_->sites.size(); ++i) of_sites += state_->sites[i].samples;
  if (live != live_.load(kRelaxed) || live != of_sites) return "heap profile: the count of samples is wrong";
  return pages_.check();
}

}  // namespace snug
