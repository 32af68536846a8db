// pool_kinds: what an element of a pool costs where a program has many pools with a cache for each thread, and threads
// that have used them all; and what checks cost, by the length of the list that is built and deleted. The instructions
// behind it: bench/harness/stepping/pool_step.cpp.
#include "waiting_threads.h"
#include "workload.h"

#include <snug/allocator.h>
#include <snug/pool.h>
#include <snug/pool_thread_cache.h>

#include <deque>
#include <list>

namespace workload {
namespace {

using CachedPool = snug::Pool<void, snug::ThreadCached>;

// ns a pair, from each pool in turn.
double pairs(size_t kinds, unsigned idle, const Options& options) {
  std::deque<CachedPool> pools;
  for (size_t i = 0; i < kinds; ++i) pools.emplace_back(32);
  const snug::WaitingThreads threads(idle, [&] {
    for (CachedPool& pool : pools) pool.deallocate(pool.allocate());
  });
  const size_t repeats = scaled(options, 2e6) / kinds + 1;
  double start = 0;
  for (size_t repeat = 0; repeat <= repeats; ++repeat) {
    if (repeat == 1) start = now_ns();  // the first pairs fetch blocks and caches
    for (CachedPool& pool : pools) pool.deallocate(pool.allocate());
  }
  return (now_ns() - start) / static_cast<double>(repeats * kinds);
}

// ns a node, pushed and cleared.
template <class Threads, class Checks>
double build_and_clear(size_t nodes, const Options& options) {
  const size_t repeats = std::max<size_t>(2, scaled(options, 2e6) / nodes);
  std::list<uint64_t, snug::PoolAllocator<uint64_t, Threads, Checks>> list;
  double start = 0;
  for (size_t repeat = 0; repeat <= repeats; ++repeat) {
    if (repeat == 1) start = now_ns();
    for (size_t i = 0; i < nodes; ++i) list.push_back(i);
    list.clear();
  }
  return (now_ns() - start) / static_cast<double>(repeats * nodes);
}

template <class Threads, class Checks>
void measure_lists(const std::string& name, const Options& options, Report& report) {
  for (const size_t nodes : {size_t{10'000}, size_t{1'000'000}, size_t{4'000'000}}) {
    report.measure(name + "/N=" + std::to_string(nodes), "ns",
                   [&](uint64_t) { return build_and_clear<Threads, Checks>(nodes, options); });
  }
}

}  // namespace

const Program kProgram = {
    .name = "pool_kinds",
    .what = R"(Allocates and frees an element of each of K pools with thread caches in turn, alone and beside 64 threads
that have used them all; and builds and clears std::lists on checked and unchecked pools.)",
    .figures =
        "kinds=1 to kinds=300, kinds=K/idle=64: ns a pair. alone/…, alone checked/…, cached/…, cached checked/N=…: "
        "ns a node of a list, pushed and cleared."};

void measure_all(const Options& options, Report& report) {
  for (const unsigned idle : {0u, 64u}) {
    for (const size_t kinds : {size_t{1}, size_t{16}, size_t{17}, size_t{40}, size_t{300}}) {
      report.measure("kinds=" + std::to_string(kinds) + (idle != 0 ? "/idle=64" : ""), "ns",
                     [&](uint64_t) { return pairs(kinds, idle, options); });
    }
  }
  measure_lists<snug::SingleThread, snug::Unchecked>("alone", options, report);
  measure_lists<snug::SingleThread, snug::Checked>("alone checked", options, report);
  measure_lists<snug::ThreadCached, snug::Unchecked>("cached", options, report);
  measure_lists<snug::ThreadCached, snug::Checked>("cached checked", options, report);
}

}  // namespace workload
