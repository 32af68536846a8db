// corruption.cpp: pools whose memory is written over at random. Each time a pool is made, used for a while, some bytes
// of what it owns are changed (free elements' links, records of blocks, bits, its index), and it is used again, looked
// at, and destroyed. A checked pool reports it by one line or nothing comes of it; an unchecked one is only looked at.
//
//   corruption [COUNT [FIRST_SEED]]
//
// Ends with what came of the COUNT corruptions; exit status 1, with the seed, at the first that ends in a signal, hangs
// for seconds, reports by anything but a line of snug's, or has the pool give back what it never had.
//
// This program is itself the heap that pools draw on: it has the functions of snug.h that they call, and so knows all
// that a pool owns.
#include <snug/poison.h>
#include <snug/pool.h>
#include <snug/pool_thread_cache.h>

#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include <unistd.h>

namespace {

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

[[noreturn]] void fail(const char* what);

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
    heap.pieces[i] = heap.pieces[--heap.count];
    return;
  }
  fail("gives back what it never took");
}

// ---- what comes of a corruption

uint64_t seed;
sigjmp_buf reported;

[[noreturn]] void fail(const char* what) {
  std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed), what);
  std::fflush(stdout);
  _exit(1);
}

void on_signal(int number) {
  if (number == SIGABRT) siglongjmp(reported, 1);
  fail(number == SIGALRM ? "hangs" : "ends in a signal");
}

// Standard error goes to a file, of which each report must be the whole.
int report_file() {
  static const int file = fileno(std::tmpfile());
  return file;
}

bool is_one_line_of_snugs(bool forget) {
  char text[512];
  const ssize_t length = pread(report_file(), text, sizeof text, 0);
  if (forget && (ftruncate(report_file(), 0) != 0 || lseek(report_file(), 0, SEEK_SET) != 0)) fail("no file");
  if (length <= 11 || length == sizeof text || text[length - 1] != '\n') return false;
  return std::memcmp(text, "snug: Pool<", 11) == 0 && std::memchr(text, '\n', sizeof text) == text + length - 1;
}

// ---- one corruption

using Random = std::minstd_rand;

struct Node {
  explicit Node(uint64_t* made) : counter(made) { ++*counter; }
  ~Node() { --*counter; }
  uint64_t* counter;
  char rest[24] = {};
};

template <class TestedPool>
void destroy_last(TestedPool& pool, std::vector<Node*>& live, uint64_t& counter) {
  Node* const node = live.back();
  live.pop_back();
  node->counter = &counter;  // what a stray write did to the caller's own elements is not the pool's to find
  pool.destroy(node);
}

template <class TestedPool>
void use(TestedPool& pool, std::vector<Node*>& live, uint64_t& counter, Random& random, unsigned steps) {
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
          if (Node* const node = pool.try_construct(&counter)) live.push_back(node);
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
    const size_t length = std::min<size_t>(1 + random() % 16, piece.bytes - at);
    switch (random() % 4) {
      case 0:
        piece.start[at] = static_cast<char>(piece.start[at] ^ 1 << random() % 8);
        break;
      case 1:
        std::memset(piece.start + at, 0, length);
        break;
      case 2: {  // an address of the pool's own
        const size_t place = at & ~size_t{7};
        char* const into = heap.memory + (random() % heap.used & ~size_t{7});
        if (place + sizeof into <= piece.bytes) std::memcpy(piece.start + place, &into, sizeof into);
        break;
      }
      default:
        for (size_t i = 0; i < length; ++i) piece.start[at + i] = static_cast<char>(random());
    }
  }
}

struct Outcome {
  uint64_t reported = 0, harmless = 0;
};

// The pool is never destroyed if it reports: it is forgotten with its memory.
template <class TestedPool>
void run_checked(Outcome& outcome) {
  alignas(TestedPool) static unsigned char place[sizeof(TestedPool)];
  static std::vector<Node*> live;
  live.clear();
  Random random(static_cast<unsigned>(seed) + 1);
  const snug::PoolGrowth growth{256u << random() % 4, 1024u << random() % 4};
  uint64_t counter = 0;
  auto* const pool = ::new (place) TestedPool(growth);
  use(*pool, live, counter, random, random() % 400);
  if (is_one_line_of_snugs(false)) fail("reports before it is corrupted");
  if (heap.count == 0) return;
  corrupt(random);
  if (sigsetjmp(reported, 1) == 0) {
    use(*pool, live, counter, random, 400);
    while (!live.empty()) destroy_last(*pool, live, counter);
    pool->~TestedPool();
    ++outcome.harmless;
  } else {
    if (!is_one_line_of_snugs(true)) fail("is not reported by one line");
    ++outcome.reported;
  }
}

void run_unchecked(Outcome& outcome) {
  Random random(static_cast<unsigned>(seed) + 1);
  using TestedPool = snug::Pool<Node>;
  alignas(TestedPool) static unsigned char place[sizeof(TestedPool)];
  std::vector<Node*> live;
  uint64_t counter = 0;
  auto* const pool = ::new (place) TestedPool(snug::PoolGrowth{256u << random() % 4, 4096});
  use(*pool, live, counter, random, random() % 400);
  if (heap.count == 0) return;
  corrupt(random);
  ++(pool->check() != nullptr ? outcome.reported : outcome.harmless);
}

int run(uint64_t count, uint64_t first) {
  if (dup2(report_file(), 2) != 2) fail("no standard error");
  for (const int number : {SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGALRM}) std::signal(number, &on_signal);
  Outcome checked, unchecked;
  for (seed = first; seed != first + count; ++seed) {
    if (seed % 64 == 0) alarm(20);
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
  }
  const auto print = [](const char* what, const Outcome& outcome) {
    std::printf("%s: %llu reported, %llu harmless\n", what, static_cast<unsigned long long>(outcome.reported),
                static_cast<unsigned long long>(outcome.harmless));
  };
  print("checked pools", checked);
  print("unchecked pools, looked at", unchecked);
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
}

int main(int argc, char** argv) {
  const auto number = [&](int at, uint64_t otherwise) {
    return argc > at ? std::strtoull(argv[at], nullptr, 10) : otherwise;
  };
  return run(number(1, 5000), number(2, 1));
}
