// s3_list: Pool(3C++)'s published table (S3): a linked list of N nodes is built and deleted again, with snug's
// pools, with other pools, and with new and delete of whatever malloc is preloaded. Headers of peers that are not
// installed are done without; mimalloc is opened at run time, since linking it would replace malloc.
#include "drawn_sizes.h"
#include "list_node.h"
#include "workload.h"

#include <dlfcn.h>
#include <snug/pool.h>
#include <snug/pool_thread_cache.h>
#include <snug/pooled.h>
#include <snug/resource.h>

#include <latch>
#include <memory_resource>
#include <new>
#include <tuple>

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

using ThingList = seeds::ListNode;

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
    seeds::build_and_delete(maker, nodes);
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

// Families of pools for elements of several sizes, which threads share (drawn_sizes.h).

struct NewDeleteSizes {
  template <class Node>
  Node* make() {
    return new Node;
  }
  template <class Node>
  void unmake(Node* node) {
    delete node;
  }
};

template <class Threads>
struct SnugPools {
  template <class Node>
  using Pool = snug::Pool<Node, Threads, snug::Unchecked>;
  template <class Node>
  Node* make() {
    return ::new (std::get<Pool<Node>>(pools).allocate()) Node;
  }
  template <class Node>
  void unmake(Node* node) {
    std::get<Pool<Node>>(pools).destroy(node);
  }
  seeds::OfEachKind<std::tuple, Pool> pools;
};

// A resource has its pools in itself: one serves all sizes.
template <class Resource>
struct SizesOnResource {
  template <class Node>
  Node* make() {
    return ::new (resource.allocate(sizeof(Node), alignof(Node))) Node;
  }
  template <class Node>
  void unmake(Node* node) {
    resource.deallocate(node, sizeof(Node), alignof(Node));
  }
  Resource resource;
};

#ifdef SNUG_WITH_BOOST
struct BoostFastSizes {
  template <class Node>
  using Allocator =
      boost::fast_pool_allocator<Node, boost::default_user_allocator_new_delete, boost::details::pool::default_mutex>;
  template <class Node>
  Node* make() {
    return ::new (Allocator<Node>().allocate(1)) Node;
  }
  template <class Node>
  void unmake(Node* node) {
    Allocator<Node>().deallocate(node, 1);
  }
};
#endif

// ns a node in each of the threads, which begin together and go on for the same time: so all of them are there
// whatever a node costs, and the run is as long. A clock is read every thousand nodes.
template <class MakerOf>
double together(unsigned threads, size_t nodes, const Options& options, MakerOf&& maker_of) {
  constexpr double kSharedNs = 40e6;
  const size_t lists = std::max<size_t>(1, 1000 / nodes);
  std::vector<double> rates(threads);
  std::latch start(threads);
  run_threads(threads, [&](unsigned t) {
    auto&& maker = maker_of(t);
    seeds::build_and_delete(maker, nodes);  // warms up
    start.arrive_and_wait();
    const double begin = now_ns();
    double end = begin, built = 0;
    while (built == 0 || end - begin < kSharedNs * options.scale) {
      for (size_t i = 0; i < lists; ++i) seeds::build_and_delete(maker, nodes);
      built += static_cast<double>(lists * nodes);
      end = now_ns();
    }
    rates[t] = built / (end - begin);
  });
  double sum = 0;
  for (const double rate : rates) sum += rate;
  return threads / sum;
}

// 2, 4 and 8 threads, or --threads, share one maker, then one family.
template <class Maker, class Family>
void measure_shared(const Options& options, Report& report) {
  const std::vector<unsigned> counts =
      options.threads != 0 ? std::vector<unsigned>{options.threads} : std::vector<unsigned>{2, 4, 8};
  for (const unsigned threads : counts) {
    for (const size_t nodes : kLengths) {
      const std::string load = "/threads=" + std::to_string(threads) + "/N=" + std::to_string(nodes);
      report.measure(std::string(Maker::kName) + "/pools=1" + load, "ns", [&](uint64_t) {
        Maker maker;
        return together(threads, nodes, options, [&](unsigned) -> Maker& { return maker; });
      });
      report.measure(std::string(Maker::kName) + "/pools=" + std::to_string(seeds::kKinds) + load, "ns",
                     [&](uint64_t seed) {
                       Family family;
                       return together(threads, nodes, options,
                                       [&](unsigned t) { return seeds::DrawnSizes<Family>(family, seed + t); });
                     });
    }
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
        "NAME/N=1 to NAME/N=10000: ns a node, made and deleted, one thread; NAME/pools=1/threads=T/N=…: in each of T "
        "threads that share a pool; NAME/pools=4/threads=T/N=…: four pools, of 32, 48, 64 and 96 B, drawn at random.",
    .threads = "that share pools; 0: 2, 4 and 8",
    .defaults = {.threads = 0, .rounds = 7}};

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

  measure_shared<NewDelete, NewDeleteSizes>(options, report);
  measure_shared<SnugLocked, SnugPools<snug::Locked>>(options, report);
  measure_shared<SnugCached, SnugPools<snug::ThreadCached>>(options, report);
  measure_shared<SnugSynchronized, SizesOnResource<snug::SynchronizedPoolResource>>(options, report);
#ifdef SNUG_WITH_BOOST
  measure_shared<BoostFastLocked, BoostFastSizes>(options, report);
#endif
  measure_shared<StdSynchronized, SizesOnResource<std::pmr::synchronized_pool_resource>>(options, report);
}

}  // namespace workload
