// pool/pool_resource.h: BasicPoolResource, a std::pmr::memory_resource with one pool for each class of sizes
// (resource.h says which names to use).
//
//   classes   8, 16, 32, 48 … 128 bytes, then four to each doubling up to the largest pooled size. The size of a
//             request is first rounded up to its alignment; so the class fits it, which is proved below
//   pools     each made at the first request of its class, from upstream; each grows by chunks of its own
//   unpooled  larger requests, or those aligned to more than 64: from upstream one by one, each with a record behind
//             it, through which release() finds it
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory_resource>
#include <mutex>
#include <new>

#include "snug/pool/blocks.h"
#include "snug/pool/lock.h"

namespace snug {

// The pools' classes of sizes.
struct ResourceClasses {
  static constexpr std::size_t kSmallest = 8;
  static constexpr std::size_t kStep = 16;
  static constexpr std::size_t kLinear = 128;  // the end of the linear classes, each a step long
  static constexpr std::size_t kLinearClasses = kLinear / kStep + 1;
  static constexpr std::size_t kMostAlignment = 64;
  static constexpr std::size_t kMostBytes = std::size_t{1} << 20;

  static constexpr std::size_t size(std::size_t size_class) {
    if (size_class == 0) return kSmallest;
    if (size_class < kLinearClasses) return size_class * kStep;
    const std::size_t step = size_class - kLinearClasses + 1;
    const std::size_t doubling = kLinear << (step / 4);
    return doubling + doubling / 4 * (step % 4);
  }
  static constexpr std::size_t class_of(std::size_t bytes) {
    if (bytes <= kSmallest) return 0;
    if (bytes <= kLinear) return (bytes + kStep - 1) / kStep;
    const unsigned doubling = static_cast<unsigned>(std::bit_width((bytes - 1) / kLinear)) - 1;
    const std::size_t quarter = kLinear / 4 << doubling;
    return kLinearClasses - 1 + std::size_t{doubling} * 4 + (bytes - 1 - (kLinear << doubling)) / quarter + 1;
  }
  // The alignment that every element of the class has, if its chunks have it.
  static constexpr std::size_t alignment(std::size_t size_class) {
    const std::size_t bytes = size(size_class);
    return std::min(bytes & (~bytes + 1), kMostAlignment);
  }
  // The size that is looked up for a request, or 0 if it overflows. `alignment` is a power of two.
  static constexpr std::size_t rounded(std::size_t bytes, std::size_t alignment) {
    return (std::max<std::size_t>(bytes, 1) + alignment - 1) & ~(alignment - 1);
  }
};

constexpr bool resource_classes_fit() {
  for (std::size_t alignment = 1; alignment <= ResourceClasses::kMostAlignment; alignment *= 2) {
    for (std::size_t bytes = 0; bytes <= 2048; ++bytes) {
      const std::size_t rounded = ResourceClasses::rounded(bytes, alignment);
      const std::size_t size_class = ResourceClasses::class_of(rounded);
      if (ResourceClasses::size(size_class) < rounded) return false;
      if (size_class != 0 && ResourceClasses::size(size_class - 1) >= rounded) return false;
      if (ResourceClasses::alignment(size_class) < alignment) return false;
    }
  }
  return true;
}
static_assert(resource_classes_fit());

// Replaces a lock in a resource for one thread.
struct NoLock {
  void lock() noexcept {}
  void unlock() noexcept {}
};

// For a request with a size that overflows. A resource must not throw by itself, so it asks upstream for more than any
// memory, and upstream fails in its own way.
[[gnu::noinline, gnu::cold]] inline void* ask_for_everything(std::pmr::memory_resource& upstream) {
  // Volatile: compilers that see the number warn of it.
  const volatile std::size_t everything = std::numeric_limits<std::size_t>::max();
  const std::size_t bytes = everything;
  return upstream.allocate(bytes, bytes / 2 + 1);
}

// May throw what the upstream throws.
struct UpstreamSource {
  std::pmr::memory_resource* upstream;
  void* allocate(std::size_t bytes, std::size_t alignment) { return upstream->allocate(bytes, alignment); }
  void deallocate(void* block, std::size_t bytes, std::size_t alignment) {
    upstream->deallocate(block, bytes, alignment);
  }
};

template <class Lock>
class BasicPoolResource : public std::pmr::memory_resource {
 public:
  BasicPoolResource() : BasicPoolResource(std::pmr::pool_options{}) {}
  explicit BasicPoolResource(std::pmr::memory_resource* upstream) : BasicPoolResource({}, upstream) {}
  explicit BasicPoolResource(const std::pmr::pool_options& options)
      : BasicPoolResource(options, std::pmr::get_default_resource()) {}
  // `options`, each 0 for the default, are limits; options() returns those in force.
  BasicPoolResource(const std::pmr::pool_options& options, std::pmr::memory_resource* upstream)
      : upstream_(upstream), options_(limited(options)) {}
  BasicPoolResource(const BasicPoolResource&) = delete;
  BasicPoolResource& operator=(const BasicPoolResource&) = delete;
  ~BasicPoolResource() override { release(); }

  // All memory goes back to upstream, whether it was deallocated or not. O(chunks + unpooled).
  void release() {
    const std::lock_guard guard(lock_);
    while (unpooled_ != nullptr) give_back(unpooled_);
    if (pools_ == nullptr) return;
    for (std::size_t c = 0; c < classes(); ++c) {
      if (pools_[c] == nullptr) continue;
      pools_[c]->drop_all_and_release();
      upstream_->deallocate(pools_[c], sizeof(Store), alignof(Store));
    }
    upstream_->deallocate(pools_, classes() * sizeof(Store*), alignof(Store*));
    pools_ = nullptr;
  }

  std::pmr::memory_resource* upstream_resource() const { return upstream_; }
  // max_blocks_per_chunk: elements of a chunk; largest_required_pool_block: the largest pooled size.
  std::pmr::pool_options options() const { return options_; }

 protected:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    const std::size_t rounded = ResourceClasses::rounded(bytes, alignment);
    const std::lock_guard guard(lock_);
    if (!is_pooled(rounded, alignment)) [[unlikely]]
      return allocate_unpooled(bytes, alignment);
    const std::size_t size_class = ResourceClasses::class_of(rounded);
    if (pools_ == nullptr || pools_[size_class] == nullptr) [[unlikely]]
      make_pool(size_class);
    return pools_[size_class]->allocate();
  }
  void do_deallocate(void* memory, std::size_t bytes, std::size_t alignment) override {
    const std::size_t rounded = ResourceClasses::rounded(bytes, alignment);
    const std::lock_guard guard(lock_);
    if (!is_pooled(rounded, alignment)) [[unlikely]]
      return give_back(record_of(memory, bytes));
    pools_[ResourceClasses::class_of(rounded)]->deallocate(memory);
  }
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }

 private:
  using Store = PoolStore<OnlyTold, UpstreamSource>;

  static constexpr std::size_t kDefaultLargest = 4096;
  static constexpr std::size_t kMostSlots = 65536;
  static constexpr std::size_t kFirstChunk = 1024;
  static constexpr std::size_t kMostChunk = std::size_t{4} << 20;

  // The record behind the bytes of an unpooled request.
  struct Unpooled {
    Unpooled* next;
    Unpooled** link;
    void* memory;
    std::size_t bytes;  // record included
    std::size_t alignment;
  };

  static std::pmr::pool_options limited(std::pmr::pool_options options) {
    if (options.max_blocks_per_chunk == 0 || options.max_blocks_per_chunk > kMostSlots)
      options.max_blocks_per_chunk = kMostSlots;
    if (options.largest_required_pool_block == 0) options.largest_required_pool_block = kDefaultLargest;
    const std::size_t largest = std::min(options.largest_required_pool_block, ResourceClasses::kMostBytes);
    options.largest_required_pool_block = ResourceClasses::size(ResourceClasses::class_of(largest));
    return options;
  }

  std::size_t classes() const noexcept { return ResourceClasses::class_of(options_.largest_required_pool_block) + 1; }
  // A rounded size that has overflowed is 0.
  bool is_pooled(std::size_t rounded, std::size_t alignment) const noexcept {
    return rounded - 1 < options_.largest_required_pool_block && alignment <= ResourceClasses::kMostAlignment;
  }

  // Makes the pool of one class only, so that a program which requests one size pays for one pool. A callback of the
  // upstream's (snug/limits.h) may have made either meanwhile.
  [[gnu::noinline]] void make_pool(std::size_t size_class) {
    if (pools_ == nullptr) {
      auto** const pools = static_cast<Store**>(upstream_->allocate(classes() * sizeof(Store*), alignof(Store*)));
      if (pools_ == nullptr) {
        std::fill_n(pools, classes(), nullptr);
        pools_ = pools;
      } else {
        upstream_->deallocate(pools, classes() * sizeof(Store*), alignof(Store*));
      }
    }
    if (pools_[size_class] != nullptr) return;
    const std::size_t size = ResourceClasses::size(size_class);
    const std::size_t most = std::min(options_.max_blocks_per_chunk * size + sizeof(PoolBlock), kMostChunk);
    void* const memory = upstream_->allocate(sizeof(Store), alignof(Store));
    if (pools_[size_class] != nullptr) return upstream_->deallocate(memory, sizeof(Store), alignof(Store));
    pools_[size_class] =
        ::new (memory) Store(size, ResourceClasses::alignment(size_class),
                             PoolGrowth{std::min(kFirstChunk, most), most}, {}, UpstreamSource{upstream_});
  }

  static Unpooled* record_of(void* memory, std::size_t bytes) noexcept {
    return reinterpret_cast<Unpooled*>(static_cast<char*>(memory) + ResourceClasses::rounded(bytes, alignof(Unpooled)));
  }
  [[gnu::noinline]] void* allocate_unpooled(std::size_t bytes, std::size_t alignment) {
    constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max() / 2;
    if (bytes > kMost - sizeof(Unpooled) - alignof(Unpooled)) return ask_for_everything(*upstream_);
    const std::size_t whole = ResourceClasses::rounded(bytes, alignof(Unpooled)) + sizeof(Unpooled);
    alignment = std::max(alignment, alignof(Unpooled));
    void* const memory = upstream_->allocate(whole, alignment);
    auto* const record = ::new (record_of(memory, bytes)) Unpooled{unpooled_, &unpooled_, memory, whole, alignment};
    if (unpooled_ != nullptr) unpooled_->link = &record->next;
    unpooled_ = record;
    return memory;
  }
  void give_back(Unpooled* record) {
    *record->link = record->next;
    if (record->next != nullptr) record->next->link = record->link;
    const Unpooled copy = *record;  // the record goes with its memory
    upstream_->deallocate(copy.memory, copy.bytes, copy.alignment);
  }

  std::pmr::memory_resource* upstream_;
  std::pmr::pool_options options_;
  Store** pools_ = nullptr;  // by class; null: no request of the class so far
  Unpooled* unpooled_ = nullptr;
  [[no_unique_address]] Lock lock_;
};

// Classes and not aliases, so that a derived class may inherit their constructors by name.
class PoolResource : public BasicPoolResource<NoLock> {
 public:
  using BasicPoolResource::BasicPoolResource;
};
class SynchronizedPoolResource : public BasicPoolResource<PoolLock> {
 public:
  using BasicPoolResource::BasicPoolResource;
};

}  // namespace snug
