// s3_list: Pool(3C++)'s published table (S3): a linked list of N nodes is built and deleted again, with snug's
// pools, with other pools, and with new and delete of whatever malloc is preloaded. Headers of peers that are not
// installed are done without; mimalloc is opened at run time, since linking it would replace malloc.
#include "workload.h"

#include <dlfcn.h>
#include <snug/pool.h>
#include <snug/pool_thread_cache.h>
#include <snug/pooled.h>
#include <snug/resource.h>

#include <memory_resource>
#include <new>

#if __has_include(<boost/pool/pool_alloc.hpp>)
#include <boost/pool/pool.hpp>
#include <boost/pool/pool_alloc.hpp>
#define SNUG_WITH_BOOST
#endif
#if __has_include(<foonathan/memory/memory_pool.hpp>)
#include <foonathan/memory/memory_pool.hpp>
#define SNUG_WITH_FOONATHAN
#endif

namespace workload {
namespace {

struct ThingList {
  ThingList* next;
  uint64_t value;
};

// Each maker has make() and unmake(), which are what is measured.

struct NewDelete {
  static constexpr const char* kName = "new";
  ThingList* make() { return new ThingList; }
  void unmake(ThingList* node) { delete node; }
};

template <class Threads>
struct SnugPool {
  static constexpr const char* kName = "snug::Pool";
  ThingList* make() { return ::new (pool.allocate()) ThingList; }
  void unmake(ThingList* node) { pool.destroy(node); }
  snug::Pool<ThingList, Threads, snug::Unchecked> pool;
};
struct SnugLocked : SnugPool<snug::Locked> {
  static constexpr const char* kName = "snug::Pool locked";
};
struct SnugCached : SnugPool<snug::ThreadCached> {
  static constexpr const char* kName = "snug::Pool cached";
};

// Pool(3C++)'s own way: the class's operator new and delete.
struct SnugPooled {
  static constexpr const char* kName = "snug::Pooled";
  struct Node : snug::Pooled<Node, snug::SingleThread, snug::Unchecked>, ThingList {};
  ThingList* make() { return new Node; }
  void unmake(ThingList* node) { delete static_cast<Node*>(node); }
};

template <class Resource>
struct OnResource {
  ThingList* make() { return ::new (resource.allocate(sizeof(ThingList), alignof(ThingList))) ThingList; }
  void unmake(ThingList* node) { resource.deallocate(node, sizeof(ThingList), alignof(ThingList)); }
  Resource resource;
};
struct SnugResource : OnResource<snug::PoolResource> {
  static constexpr const char* kName = "snug::PoolResource";
};
struct StdResource : OnResource<std::pmr::unsynchronized_pool_resource> {
  static constexpr const char* kName = "std::pmr unsync";
};
struct SnugSynchronized : OnResource<snug::SynchronizedPoolResource> {
  static constexpr const char* kName = "snug::Synchronized";
};
struct StdSynchronized : OnResource<std::pmr::synchronized_pool_resource> {
  static constexpr const char* kName = "std::pmr sync";
};

#ifdef SNUG_WITH_BOOST
struct BoostPool {
  static constexpr const char* kName = "boost::pool";
  ThingList* make() { return ::new (pool.malloc()) ThingList; }
  void unmake(ThingList* node) { pool.free(node); }
  boost::pool<> pool{sizeof(ThingList)};
};
template <class Mutex>
struct BoostFast {
  ThingList* make() { return ::new (allocator.allocate(1)) ThingList; }
  void unmake(ThingList* node) { allocator.deallocate(node, 1); }
  boost::fast_pool_allocator<ThingList, boost::default_user_allocator_new_delete, Mutex> allocator;
};
struct BoostFastAlone : BoostFast<boost::details::pool::null_mutex> {
  static constexpr const char* kName = "boost::fast";
};
struct BoostFastLocked : BoostFast<boost::details::pool::default_mutex> {
  static constexpr const char* kName = "boost::fast locked";
};
#endif

#ifdef SNUG_WITH_FOONATHAN
struct Foonathan {
  static constexpr const char* kName = "foonathan";
  ThingList* make() { return ::new (pool.allocate_node()) ThingList; }
  void unmake(ThingList* node) { pool.deallocate_node(node); }
  foonathan::memory::memory_pool<foonathan::memory::node_pool> pool{sizeof(ThingList), 64 << 10};
};
#endif

class MiHeap {
 public:
  static constexpr const char* kName = "mi_heap";
  // Debian's mimalloc, or null if it is not installed.
  static void* library() {
    static void* const handle = dlopen("libmimalloc.so.2", RTLD_NOW | RTLD_LOCAL);
    return handle;
  }
  MiHeap() : heap_(find<void* (*)()>("mi_heap_new")()) {}
  ~MiHeap() { find<void (*)(void*)>("mi_heap_destroy")(heap_); }
  MiHeap(const MiHeap&) = delete;
  MiHeap& operator=(const MiHeap&) = delete;
  ThingList* make() { return ::new (malloc_(heap_, sizeof(ThingList))) ThingList; }
  void unmake(ThingList* node) { free_(node); }

 private:
  template <class Function>
  static Function find(const char* name) {
    void* const found = dlsym(library(), name);
    if (found == nullptr) fail("libmimalloc.so.2 lacks a function of mi_heap");
    return reinterpret_cast<Function>(found);
  }
  void* heap_;
  void* (*malloc_)(void*, size_t) = find<void* (*)(void*, size_t)>("mi_heap_malloc");
  void (*free_)(void*) = find<void (*)(void*)>("mi_free");
};

// ns per node, made and unmade.
template <class Maker>
double build_and_delete(Maker& maker, size_t nodes, const Options& options) {
  const size_t repeats = std::max<size_t>(2, scaled(options, 1e6) / nodes);
  double start = 0;
  for (size_t repeat = 0; repeat <= repeats; ++repeat) {
    if (repeat == 1) start = now_ns();  // the first list warms up
    ThingList* head = nullptr;
    for (size_t j = 0; j < nodes; ++j) {
      ThingList* const node = maker.make();
      node->next = head;
      node->value = j;
      head = node;
    }
    for (size_t j = nodes; head != nullptr;) {
      if (head->value != --j) fail("a node was damaged");
      ThingList* const next = head->next;
      maker.unmake(head);
      head = next;
    }
  }
  return (now_ns() - start) / static_cast<double>(repeats * nodes);
}

constexpr size_t kLengths[] = {1, 10, 100, 1000, 10000};

template <class Maker>
void measure(const Options& options, Report& report) {
  for (const size_t nodes : kLengths) {
    report.measure(std::string(Maker::kName) + "/N=" + std::to_string(nodes), "ns", [&](uint64_t) {
      Maker maker;
      return build_and_delete(maker, nodes, options);
    });
  }
}

// Two threads, or --threads, share one maker; each builds lists of its own.
template <class Maker>
void measure_shared(const Options& options, Report& report) {
  for (const size_t nodes : kLengths) {
    const std::string name = std::string(Maker::kName) + "/threads/N=" + std::to_string(nodes);
    report.measure(name, "ns", [&](uint64_t) {
      Maker maker;
      return average_of_threads(options.threads, [&](unsigned) { return build_and_delete(maker, nodes, options); });
    });
  }
}

}  // namespace

const Program kProgram = {
    .name = "s3_list",
    .what =
        R"(Builds a linked list of N nodes of 16 B and deletes it again: Pool(3C++)'s published table, with snug's
pools beside new and delete (of whatever malloc is preloaded), boost::pool, boost::fast_pool_allocator, std::pmr's pool
resources, foonathan/memory and mi_heap, as far as they are installed; and with pools that threads share.)",
    .figures =
        "NAME/N=1 to NAME/N=10000: ns a node, made and deleted, one thread; NAME/threads/N=…: in each of --threads.",
    .threads = "that share a pool, in the figures NAME/threads/…",
    .defaults = {.threads = 2, .rounds = 7}};

void measure_all(const Options& options, Report& report) {
  measure<NewDelete>(options, report);
  measure<SnugPool<snug::SingleThread>>(options, report);
  measure<SnugPooled>(options, report);
  measure<SnugResource>(options, report);
#ifdef SNUG_WITH_BOOST
  measure<BoostPool>(options, report);
  measure<BoostFastAlone>(options, report);
#endif
#ifdef SNUG_WITH_FOONATHAN
  measure<Foonathan>(options, report);
#endif
  measure<StdResource>(options, report);
  if (MiHeap::library() != nullptr) measure<MiHeap>(options, report);

  measure_shared<NewDelete>(options, report);
  measure_shared<SnugLocked>(options, report);
  measure_shared<SnugCached>(options, report);
  measure_shared<SnugSynchronized>(options, report);
#ifdef SNUG_WITH_BOOST
  measure_shared<BoostFastLocked>(options, report);
#endif
  measure_shared<StdSynchronized>(options, report);
}

}  // namespace workload
