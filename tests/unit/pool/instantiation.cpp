// instantiation.cpp: every class template of the pools' headers, with all of its members. Compiled, and not run, by GCC
// and Clang under the warnings that a careful user turns on, with NDEBUG and without, which must mean the same pools.
#include <snug/allocator.h>
#include <snug/pool.h>
#include <snug/pool_thread_cache.h>
#include <snug/pooled.h>
#include <snug/resource.h>

#include <list>
#include <map>
#include <string>

struct Node {
  virtual ~Node() = default;
  std::string name;
};
struct alignas(128) Wide {
  char bytes[3];
};
class Abstract {
 public:
  virtual ~Abstract() = default;
  virtual void act() = 0;
};

struct PlainNode : snug::Pooled<PlainNode> {};
struct LockedNode : snug::Pooled<LockedNode, snug::Locked, snug::Checked> {};
struct CachedNode : snug::Pooled<CachedNode, snug::ThreadCached> {};
struct alignas(64) CheckedNode : snug::Pooled<CheckedNode, snug::ThreadCached, snug::Checked> {};

template class snug::Pooled<PlainNode>;
template class snug::Pooled<LockedNode, snug::Locked, snug::Checked>;
template class snug::Pooled<CachedNode, snug::ThreadCached>;
template class snug::Pooled<CheckedNode, snug::ThreadCached, snug::Checked>;

#define INSTANTIATE_POOLS(T)                                       \
  template class snug::Pool<T>;                                    \
  template class snug::Pool<T, snug::SingleThread, snug::Checked>; \
  template class snug::Pool<T, snug::Locked>;                      \
  template class snug::Pool<T, snug::Locked, snug::Checked>;       \
  template class snug::Pool<T, snug::ThreadCached>;                \
  template class snug::Pool<T, snug::ThreadCached, snug::Checked>
INSTANTIATE_POOLS(int);
INSTANTIATE_POOLS(void);
INSTANTIATE_POOLS(Node);
INSTANTIATE_POOLS(const Node);
INSTANTIATE_POOLS(Wide);
INSTANTIATE_POOLS(Abstract);
template union snug::EverlastingPool<snug::Pool<long>>;

using Store = snug::PoolStore<snug::Unchecked, snug::HeapSource>;
using CheckedStore = snug::PoolStore<snug::Checked, snug::HeapSource>;
template class snug::PoolStore<snug::Unchecked, snug::HeapSource>;
template class snug::PoolStore<snug::Checked, snug::HeapSource>;
template class snug::SingleThread::Front<Store>;
template class snug::SingleThread::Front<CheckedStore>;
template class snug::Locked::Front<Store>;
template class snug::Locked::Front<CheckedStore>;
template class snug::ThreadCached::CachedFront<Store>;
template class snug::ThreadCached::LockedFront<CheckedStore>;
template class snug::BasicPool<snug::SingleThread, snug::Unchecked, snug::HeapSource>;
template class snug::BasicPool<snug::ThreadCached, snug::Unchecked, snug::HeapSource>;
template class snug::BasicPool<snug::ThreadCached, snug::Checked, snug::HeapSource>;
template class snug::PoolStore<snug::Unchecked, snug::UpstreamSource>;
template class snug::PoolStore<snug::Checked, snug::UpstreamSource>;

template class snug::Allocator<int>;
template class snug::PoolAllocator<int>;
template class snug::PoolAllocator<Node, snug::SingleThread>;
template class snug::PoolAllocator<Wide, snug::Locked, snug::Checked>;
template class std::list<int, snug::PoolAllocator<int>>;
template class std::map<int, Node, std::less<>, snug::PoolAllocator<std::pair<const int, Node>>>;
template class snug::BasicPoolResource<snug::NoLock>;
template class snug::BasicPoolResource<snug::PoolLock>;
template class snug::BasicMonotonicResource<snug::NoLock>;
template class snug::BasicMonotonicResource<snug::PoolLock>;

// A pool's type says all, and no macro changes what it means.
static_assert(std::is_same_v<snug::Pool<int>, snug::Pool<int, snug::SingleThread, snug::Unchecked>>);
static_assert(std::is_same_v<snug::Pooled<Node>, snug::Pooled<Node, snug::SingleThread, snug::Unchecked>>);
static_assert(std::is_same_v<snug::PoolAllocator<int>, snug::PoolAllocator<int, snug::ThreadCached, snug::Unchecked>>);
