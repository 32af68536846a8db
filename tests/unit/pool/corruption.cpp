// corruption.cpp: pools with memory overwritten at random. Each time the program makes a pool, uses it for a while,
// changes some bytes of what it owns (free elements' links, records of blocks, bits, its index), uses it again, looks
// at it, and destroys it. A checked pool reports the damage by one line, or it does no harm; an unchecked one is only
// looked at.
//
//   corruption [COUNT [FIRST_SEED]]
//
// Ends with what came of the COUNT corruptions; exit status 1, with the seed, at the first that ends in a signal, hangs
// for seconds, reports by anything but a line of snug's, has the pool give back what it never had, or changes an
// element that is live.
//
// This program is itself the heap that pools draw on: it has the functions of snug.h that they call, and so knows all
// that a pool owns.
#include <snug/base/poison.h>
#include <snug/pool.h>
#include <snug/pool_thread_cache.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <vector>

#include "corruption.h"

namespace {

using snug::corruption::fail;
using snug::corruption::Outcome;
using snug::corruption::Random;
using snug::corruption::seed;
constexpr const char* kReport = "snug: Pool<";

// ---- the heap

struct Piece {
  char* start;
  size_t bytes;
};

struct Heap {
  alignas(4096) char memory[1 << 20];
  size_t used;
  Piece pieces[512];
  size_t count;
};
Heap heap;

void* take(size_t bytes, size_t alignment) {
  const size_t start = (heap.used + alignment - 1) & ~(alignment - 1);
  if (heap.count == std::size(heap.pieces) || start > sizeof heap.memory || bytes > sizeof heap.memory - start)
    return nullptr;
  heap.used = start + bytes;
  heap.pieces[heap.count++] = {heap.memory + start, bytes};
  return heap.memory + start;
}

void give_back(void* memory, size_t bytes) {
  for (size_t i = 0; i < heap.count; ++i) {
    if (heap.pieces[i].start != memory) continue;
    if (bytes != 0 && bytes != heap.pieces[i].bytes) fail("gives back another length than it took");
    snug::unpoison_for_sanitizer(heap.pieces[i].start, heap.pieces[i].bytes);
    std::memset(heap.pieces[i].start, 0xdd, heap.pieces[i].bytes);
    heap.pieces[i] = heap.pieces[--heap.count];
    return;
  }
  fail("gives back what it never took");
}

// ---- one corruption

struct Node {
  explicit Node(uint64_t* made) : counter(made) { ++*counter; }
  ~Node() { --*counter; }
  uint64_t* counter;
  uint64_t stamps[3] = {};
};

// A live element, and what the caller has written to it.
struct Live {
  Node* node;
  uint64_t stamp;

  void write(uint64_t* counter) const {
    node->counter = counter;
    std::fill(std::begin(node->stamps), std::end(node->stamps), stamp);
  }
  void expect_as_written(const uint64_t* counter) const {
    if (node->counter != counter) fail("changes an element");
    for (const uint64_t seen : node->stamps)
      if (seen != stamp) fail("changes an element");
  }
};

template <class TestedPool>
void destroy_last(TestedPool& pool, std::vector<Live>& live, const uint64_t& counter) {
  const Live last = live.back();
  live.pop_back();
  last.expect_as_written(&counter);
  pool.destroy(last.node);
}

template <class TestedPool>
void use(TestedPool& pool, std::vector<Live>& live, uint64_t& counter, Random& random, unsigned steps) {
  for (unsigned step = 0; step < steps; ++step) {
    switch (random() % 32) {
      case 0:
        static_cast<void>(pool.check());
        break;
      case 1:
        pool.reserve(random() % 300);
        break;
      case 2:
        pool.release_unused();
        break;
      case 3:
        static_cast<void>(pool.stats());
        break;
      case 4:
        pool.for_each_live([](Node&) {});
        break;
      case 5:
        if (random() % 8 != 0) break;
        random() % 2 != 0 ? pool.drop_all() : pool.drop_all_and_release();
        live.clear();
        break;
      default:
        if (live.empty() || random() % 8 < 5) {
          if (Node* const node = pool.try_construct(&counter)) {
            live.push_back({node, random()});
            live.back().write(&counter);
          }
        } else {
          std::swap(live[random() % live.size()], live.back());
          destroy_last(pool, live, counter);
        }
    }
  }
}

// Elements that are live are the caller's; a pool does not look at them.
void corrupt(Random& random) {
  snug::unpoison_for_sanitizer(heap.memory, sizeof heap.memory);
  const unsigned times = 1 + random() % 4;
  for (unsigned time = 0; time < times; ++time) {
    const Piece piece = heap.pieces[random() % heap.count];
    // At its end lies the record of a block; anywhere, links and bits.
    const size_t at =
        random() % 3 == 0 ? piece.bytes - 1 - random() % std::min<size_t>(piece.bytes, 80) : random() % piece.bytes;
    const char* const into = heap.memory + (random() % heap.used & ~size_t{7});  // of the pool's own
    snug::corruption::write_over(piece.start + at, piece.bytes - at, into, random);
  }
}

// The pool is never destroyed if it reports: it is forgotten with its memory.
template <class TestedPool>
void run_checked(Outcome& outcome) {
  alignas(TestedPool) static unsigned char place[sizeof(TestedPool)];
  static std::vector<Live> live;
  live.clear();
  Random random(static_cast<unsigned>(seed) + 1);
  const snug::PoolGrowth growth{256u << random() % 4, 1024u << random() % 4};
  uint64_t counter = 0;
  auto* const pool = ::new (place) TestedPool(growth);
  use(*pool, live, counter, random, random() % 400);
  if (snug::corruption::holds_one_line(kReport, false)) fail("reports before it is corrupted");
  if (heap.count == 0) return;
  corrupt(random);
  // What a stray write did to the caller's own elements is not the pool's to find.
  for (const Live& one : live) one.write(&counter);
  const bool is_reported = snug::corruption::is_reported(kReport, [&] {
    use(*pool, live, counter, random, 400);
    while (!live.empty()) destroy_last(*pool, live, counter);
    pool->~TestedPool();
  });
  ++(is_reported ? outcome.reported : outcome.harmless);
}

void run_unchecked(Outcome& outcome) {
  Random random(static_cast<unsigned>(seed) + 1);
  using TestedPool = snug::Pool<Node>;
  alignas(TestedPool) static unsigned char place[sizeof(TestedPool)];
  std::vector<Live> live;
  uint64_t counter = 0;
  auto* const pool = ::new (place) TestedPool(snug::PoolGrowth{256u << random() % 4, 4096});
  use(*pool, live, counter, random, random() % 400);
  if (heap.count == 0) return;
  corrupt(random);
  ++(pool->check() != nullptr ? outcome.reported : outcome.harmless);
}

int run(uint64_t count, uint64_t first) {
  Outcome checked, unchecked;
  snug::corruption::for_each_seed(first, count, [&] {
    snug::unpoison_for_sanitizer(heap.memory, sizeof heap.memory);  // a pool that has reported is forgotten as it is
    std::memset(heap.memory, 0, heap.used);
    heap.used = heap.count = 0;
    switch (seed % 8) {
      case 0:
        run_unchecked(unchecked);
        break;
      case 1:
      case 2:
        run_checked<snug::Pool<Node, snug::Locked, snug::Checked>>(checked);
        break;
      case 3:
      case 4:
        run_checked<snug::Pool<Node, snug::ThreadCached, snug::Checked>>(checked);
        break;
      default:
        run_checked<snug::Pool<Node, snug::SingleThread, snug::Checked>>(checked);
    }
  });
  checked.print("checked pools");
  unchecked.print("unchecked pools, looked at");
  if (count >= 1000 && (checked.reported < count / 8 || unchecked.reported < count / 100))
    fail("hardly any is reported");
  return 0;
}

}  // namespace

extern "C" {
void* snug_malloc(size_t size) { return take(size, 16); }
void* snug_aligned_alloc(size_t alignment, size_t size) { return take(size, alignment); }
void* snug_calloc(size_t count, size_t size) {
  if (count > sizeof heap.memory) return nullptr;
  void* const memory = take(count * size, 16);
  return memory != nullptr ? std::memset(memory, 0, count * size) : nullptr;
}
void snug_free(void* block) {
  if (block != nullptr) give_back(block, 0);
}
void snug_free_sized(void* block, size_t size) { give_back(block, size); }
void snug_free_aligned_sized(void* block, size_t, size_t size) { give_back(block, size); }
snug_heap* snug_heap_enter(snug_heap*) { return nullptr; }
void snug_heap_leave(snug_heap*) {}
}

int main(int argc, char** argv) {
  using snug::corruption::argument;
  return run(argument(argc, argv, 1, 5000), argument(argc, argv, 2, 1));
}
