// HeapProfile: the sampled heap profile: which stacks have allocated what, and what of it is live, estimated from
// blocks that are chosen at random (profile/sample_distance.h). Sampled blocks that have a class lie on pages of their
// own; large ones are found by their address, which their free looks up anyway.
//
//   sample   one live sampled block, in a chain of its address
//   site     the sums of one stack:   live == the sum over its samples   (counts as weights, bytes as weight * size)
//
// Nothing is allocated before the first start(). All functions are thread-safe unless they say otherwise; the lock is a
// leaf, and the OS is asked, and hooks are called, under no lock.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/lock.h"
#include "profile/call_tree.h"
#include "profile/chunked_row.h"
#include "profile/sample_distance.h"
#include "profile/sampled_pages.h"
#include "slab/block_view.h"
#include "snug/profile.h"
#include "span/meta_arena.h"

namespace snug {

// Blocks and bytes, estimated.
struct ProfileSum {
  double blocks = 0;
  double bytes = 0;
  void add(double weight, size_t size) {
    blocks += weight;
    bytes += weight * static_cast<double>(size);
  }
};

struct Sample {
  Sample* next = nullptr;
  const void* block = nullptr;
  size_t size = 0;  // bytes asked for
  double weight = 0;
  uint64_t tag = 0;
  const snug_sampler* sampler = nullptr;  // the one that gave the tag, if any
  uint32_t site = 0;
  uint32_t thread = 0;
  uint32_t milliseconds = 0;  // when, by os::milliseconds()
};

class HeapProfile {
 public:
  struct Site {
    uint32_t node = 0;     // of the innermost call, in the tree
    uint32_t samples = 0;  // live
    ProfileSum allocated = {};
    ProfileSum live = {};
    ProfileSum peak = {};  // what was live when most was
  };

  constexpr HeapProfile(MetaArena& arena, SpanStores& spans) : arena_(arena), pages_(arena, spans) {}

  // Begins, or goes on with another mean; what was sampled before stays. False if the OS refuses memory. One thread at
  // a time calls start() and stop().
  bool start(size_t mean, const ClassTable& table);
  void stop() { mean_.store(0, kRelaxed); }
  // One load each; false in a process that does not use it.
  bool is_on() const { return mean_.load(kAcquire) != 0; }  // and then own_code_ is known
  bool has_been_on() const { return mean_set_.load(kRelaxed) != 0; }
  // That of the last start().
  SampleDistance distance() const { return SampleDistance(mean_set_.load(kRelaxed)); }
  size_t mean() const { return mean_set_.load(kRelaxed); }

  // Removes from a stack the innermost frames that are the drop-in's own.
  void strip(SampledStack& stack) const;

  // A block of the class on the pages for samples; null if there is no memory. It is to be passed to add().
  void* take_block(size_t size_class) SNUG_EXCLUDES(lock_);
  // Keeps a sample: a new block, which its user does not have yet. False if there is no memory for it.
  bool add(const Sample& sample, const SampledStack& stack) SNUG_EXCLUDES(lock_);
  // Forgets the sample of a block that is about to be freed, or moved, and copies it to `was`; false if there is none.
  // By any thread (release_sampled() in allocator/sampled_blocks.h): the block is that thread's meanwhile, so that the
  // lock is taken anew for each of look_up(), remove() and give_block().
  bool remove(const void* block, Sample* was) SNUG_EXCLUDES(lock_);
  // Puts back, as it was or with another address and size, what remove() has copied. False as add().
  bool put_back(const Sample& sample) SNUG_EXCLUDES(lock_);
  // Gives back a block of take_block(), after remove().
  void give_block(void* block) SNUG_EXCLUDES(lock_);
  // What lies at an address, as pages for samples know it.
  enum class Place { kElsewhere, kBlock, kFree, kInside };
  Place look_up(const void* address) SNUG_EXCLUDES(lock_);
  // The class's block size where the address lies on a page for samples, 0 elsewhere.
  size_t block_size_at(const void* address) const {
    const Slab* const page = pages_.page_of(address);
    return page != nullptr ? page->block_size : 0;
  }
  // False if the address lies on no page for samples.
  bool view_block(const void* address, BlockView& view) SNUG_EXCLUDES(lock_);
  // Copies the sample of the block that starts there, and its stack; false if there is none.
  bool view_sample(const void* block, Sample* sample, SampledStack* stack) SNUG_EXCLUDES(lock_);
  uint64_t bytes_on_pages() SNUG_EXCLUDES(lock_);
  uint64_t blocks_on_pages() SNUG_EXCLUDES(lock_);

  // The program's hooks; null for none.
  void set_sampler(const snug_sampler* sampler) { sampler_.store(sampler, kRelease); }
  const snug_sampler* sampler() const { return sampler_.load(kAcquire); }

  // A copy of all sites and of the tree, for a reader without the lock: one mapping. False if the OS refuses it.
  struct Copy {
    void* memory = nullptr;
    size_t bytes = 0;
    const CallTree::Node* nodes = nullptr;
    uint32_t node_count = 0;
    const Site* sites = nullptr;  // from 1 on
    uint32_t site_count = 0;
    uint64_t started_ns = 0;  // since 1970
    ProfileSum live = {};
  };
  bool copy(Copy* copy) SNUG_EXCLUDES(lock_);
  void release(const Copy& copy) const { arena_.release(copy.memory, copy.bytes); }
  // Null, or the broken invariant.
  const char* check() SNUG_EXCLUDES(lock_);

  SharedLock& lock() SNUG_RETURNS_LOCK(lock_) { return lock_; }  // for a fork

 private:
  friend constexpr uint64_t layout_of_records(size_t allocator_bytes);

  static constexpr uint32_t kBuckets = 1u << 14;
  static constexpr size_t kSamplesAtOnce = 64;
  // A peak is looked for anew when so much of it has been added: one in so many parts.
  static constexpr double kPeakParts = 50;
  // What the lock guards, in one record, so that a process without a profile has a pointer alone.
  struct State {
    Sample** buckets = nullptr;  // kBuckets: zeros of the arena's, which take memory where they are used
    CallTree tree;
    ChunkedRow<Site> sites;
    Sample* free = nullptr;
    ProfileSum live = {};
    double peak = 0;         // bytes live at the peak
    bool is_rising = false;  // more is live than at the peak that the sites have
    uint64_t started_ns = 0;
  };

  static uint32_t bucket_of(const void* block) {
    return static_cast<uint32_t>((address_of(block) >> 4) * 0x9e3779b97f4a7c15 >> 50);
  }
  size_t bytes_wanted() SNUG_REQUIRES(lock_);
  void grow(void* memory, size_t bytes) SNUG_REQUIRES(lock_);
  bool make_ready() SNUG_EXCLUDES(lock_);
  template <class Act>
  bool with_record(Act act) SNUG_EXCLUDES(lock_);
  uint32_t site_of(const SampledStack& stack) SNUG_REQUIRES(lock_);
  void insert(const Sample& sample) SNUG_REQUIRES(lock_);
  void keep_peak() SNUG_REQUIRES(lock_);

  MetaArena& arena_;
  uintptr_t own_code_ = 0;  // of the drop-in; empty where the library is a part of the program
  uintptr_t own_code_end_ = 0;
  Atomic<size_t> mean_{0};  // 0: off
  Atomic<size_t> mean_set_{0};
  Atomic<size_t> live_{0};  // samples
  Atomic<const snug_sampler*> sampler_{nullptr};
  SharedLock lock_;
  State* state_ SNUG_GUARDED_BY(lock_) = nullptr;
  SampledPages pages_;  // guarded where its functions say so
};

}  // namespace snug
