// fast_path.cpp: the functions of which fast_path.py counts the instructions: allocate and deallocate of a pool that is
// passed, of one with static storage, and of a class with its own operator new and delete; and of pools with a cache
// for each thread.
#include <snug/pool.h>
#include <snug/pool_thread_cache.h>
#include <snug/pooled.h>

namespace {

struct Node : snug::Pooled<Node> {
  Node* next;
  long value;
};
constinit snug::Pool<Node> static_pool;

struct CachedNode : snug::Pooled<CachedNode, snug::ThreadCached> {
  CachedNode* next;
  long value;
};
using CachedPool = snug::Pool<CachedNode, snug::ThreadCached>;
constinit CachedPool static_cached_pool;

// deallocate() and a delete-expression check for null; code that has used the element has told the compiler that it is
// not null.
template <class T>
T* known(T* element) {
  if (element == nullptr) __builtin_unreachable();
  return element;
}

}  // namespace

extern "C" {
void* alloc_passed(snug::Pool<>& pool) { return pool.allocate(); }
void free_passed(snug::Pool<>& pool, void* element) { pool.deallocate(known(element)); }
// The function's whole length is that of the way for an element that is none.
void maybe_null_free(snug::Pool<>& pool, void* element) { pool.deallocate(element); }
void* alloc_static() { return static_pool.allocate(); }
void free_static(void* element) { static_pool.deallocate(known(element)); }
Node* alloc_class() { return new Node; }
void free_class(Node* node) { delete known(node); }

void* cached_alloc_passed(CachedPool& pool) { return pool.allocate(); }
void cached_free_passed(CachedPool& pool, void* element) { pool.deallocate(known(element)); }
void* cached_alloc_static() { return static_cached_pool.allocate(); }
void cached_free_static(void* element) { static_cached_pool.deallocate(known(element)); }
CachedNode* cached_alloc_class() { return new CachedNode; }
void cached_free_class(CachedNode* node) { delete known(node); }
}
