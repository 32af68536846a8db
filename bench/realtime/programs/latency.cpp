// latency: how long single calls of malloc and free take in a thread with deadlines, beside load, as cyclictest asks it
// of a wake-up: each call is timed, and all of them count.
//
//   latency [--operations N] [--load THREADS] [--others SHARE]
//
// The thread runs under SCHED_FIFO, if the process may, and keeps some thousand blocks of 16 B to 256 KiB, of which it
// replaces one with each two operations. Another thread frees one in SHARE of them (default 4). Threads of load
// allocate, map, write and copy. Where snug serves the process, the thread announces itself. `empty` is two readings of
// the clock with nothing between: what the machine itself takes away. One line of JSON: nanoseconds, and how often
// malloc refused.
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace {

constexpr size_t kSlots = 4096;
constexpr size_t kRing = 1 << 14;
constexpr size_t kRegion = size_t{256} << 20;

struct Random {
  uint64_t state;
  uint64_t next() {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state >> 33;
  }
  // Each doubling alike often, up to 4 KiB; one in a hundred up to 256 KiB.
  size_t size() {
    const uint64_t doublings = next() % 100 == 0 ? 14 : 8;
    return next() % (uint64_t{16} << next() % (doublings + 1)) + 1;
  }
};

uint64_t clock_now() {
#if defined(__x86_64__)
  unsigned processor;
  const uint64_t now = __rdtscp(&processor);
  _mm_lfence();
  return now;
#else
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}

double ticks_per_nanosecond() {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  const uint64_t ticks = clock_now();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  const uint64_t passed = clock_now() - ticks;
  return static_cast<double>(passed) / static_cast<double>(std::chrono::nanoseconds(Clock::now() - start).count());
}

// Counts of ticks, exact up to 64 and to one in 32 beyond.
class Histogram {
 public:
  void add(uint64_t ticks) {
    ++buckets_[bucket_of(ticks)];
    ++count_;
    most_ = std::max(most_, ticks);
  }
  // The least value that so many of a million are at most.
  uint64_t quantile(double of_million) const {
    const auto wanted = static_cast<uint64_t>(static_cast<double>(count_) * of_million / 1e6);
    uint64_t seen = 0;
    for (size_t bucket = 0; bucket != kBuckets; ++bucket)
      if ((seen += buckets_[bucket]) > wanted) return std::min(value_of(bucket), most_);
    return most_;
  }
  uint64_t most() const { return most_; }

 private:
  static constexpr size_t kBuckets = 64 * 32;
  static size_t bucket_of(uint64_t ticks) {
    if (ticks < 64) return ticks;
    const unsigned shift = static_cast<unsigned>(std::bit_width(ticks)) - 6;
    return (size_t{shift} + 1) * 32 + (ticks >> shift);
  }
  static uint64_t value_of(size_t bucket) {
    if (bucket < 64) return bucket;
    const size_t shift = bucket / 32 - 2;
    return ((bucket % 32 + 33) << shift) - 1;
  }

  std::vector<uint64_t> buckets_ = std::vector<uint64_t>(kBuckets);
  uint64_t count_ = 0;
  uint64_t most_ = 0;
};

std::atomic<bool> stop{false};

void be_load(uint64_t seed) {
  Random random{seed};
  std::vector<void*> blocks(2000);
  std::vector<char> from(8 << 20), to(8 << 20);
  while (!stop) {
    for (int i = 0; i != 2000; ++i) {
      void*& block = blocks[random.next() % blocks.size()];
      std::free(block);
      block = std::malloc(random.size());
      if (block != nullptr) std::memset(block, 1, 1);
    }
    std::memcpy(to.data(), from.data(), to.size());
    void* const mapped = mmap(nullptr, 4 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) continue;
    std::memset(mapped, 1, 4 << 20);
    munmap(mapped, 4 << 20);
  }
  for (void* block : blocks) std::free(block);
}

// From the measured thread to the one that frees: a ring of one writer and one reader.
class Ring {
 public:
  bool put(void* block) {
    const size_t at = written_.load(std::memory_order_relaxed);
    if (at - read_.load(std::memory_order_acquire) == kRing) return false;
    blocks_[at % kRing] = block;
    written_.store(at + 1, std::memory_order_release);
    return true;
  }
  bool free_one() {
    const size_t at = read_.load(std::memory_order_relaxed);
    if (at == written_.load(std::memory_order_acquire)) return false;
    std::free(blocks_[at % kRing]);
    read_.store(at + 1, std::memory_order_release);
    return true;
  }

 private:
  void* blocks_[kRing] = {};
  std::atomic<size_t> written_{0};
  std::atomic<size_t> read_{0};
};

struct Measured {
  Histogram allocation, release, empty;
  uint64_t refused = 0;
  bool is_real_time = false;
  bool is_announced = false;
  long faults = 0;
};

long faults() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_minflt + usage.ru_majflt;
}

void measure(uint64_t operations, unsigned others, Ring& ring, Measured& measured) {
  const sched_param priority{.sched_priority = 50};
  measured.is_real_time = sched_setscheduler(0, SCHED_FIFO, &priority) == 0;
  using Enter = int(size_t);
  if (auto* const begin = reinterpret_cast<Enter*>(dlsym(RTLD_DEFAULT, "snug_realtime_begin"))) {
    auto* const enter = reinterpret_cast<Enter*>(dlsym(RTLD_DEFAULT, "snug_realtime_enter"));
    begin(kRegion);
    measured.is_announced = enter != nullptr && enter(kRegion) == 0;
  }
  Random random{1};
  std::vector<void*> slots(kSlots);
  const auto run = [&](uint64_t rounds, bool counts) {
    for (uint64_t round = 0; round != rounds; ++round) {
      void*& slot = slots[random.next() % kSlots];
      const size_t size = random.size();
      const bool is_sent = others != 0 && random.next() % others == 0 && slot != nullptr && ring.put(slot);
      const uint64_t start = clock_now();
      if (!is_sent) std::free(slot);
      const uint64_t freed = clock_now();
      slot = std::malloc(size);
      const uint64_t made = clock_now();
      const uint64_t end = clock_now();
      if (slot != nullptr) std::memset(slot, 1, std::min<size_t>(size, 64));
      if (!counts) continue;
      if (!is_sent) measured.release.add(freed - start);
      measured.allocation.add(made - freed);
      measured.empty.add(end - made);
      measured.refused += slot == nullptr ? 1 : 0;
      // Under a real-time policy on a busy machine others must come to run.
      if (round % 4096 == 0) usleep(50);
    }
  };
  run(operations / 100 + kSlots, false);
  const long before = faults();
  run(operations / 2, true);
  measured.faults = faults() - before;
  for (void* block : slots) std::free(block);
}

}  // namespace

int main(int argc, char** argv) {
  uint64_t operations = 100'000'000;
  unsigned load = 2;
  unsigned others = 4;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string word = argv[i];
    const uint64_t value = std::strtoull(argv[i + 1], nullptr, 10);
    if (word == "--operations")
      operations = value;
    else if (word == "--load")
      load = static_cast<unsigned>(value);
    else if (word == "--others")
      others = static_cast<unsigned>(value);
    else {
      std::fprintf(stderr, "usage: latency [--operations N] [--load THREADS] [--others SHARE]\n");
      return 2;
    }
  }
  const double ticks = ticks_per_nanosecond();
  static Ring ring;
  std::vector<std::thread> threads;
  for (unsigned i = 0; i != load; ++i) threads.emplace_back(be_load, i + 2);
  threads.emplace_back([] {
    while (!stop)
      if (!ring.free_one()) usleep(20);
    while (ring.free_one()) {
    }
  });
  Measured measured;
  std::thread(measure, operations, others, std::ref(ring), std::ref(measured)).join();
  stop = true;
  for (std::thread& thread : threads) thread.join();
  const auto print = [&](const char* what, const Histogram& times) {
    const struct {
      const char* name;
      uint64_t value;
    } figures[] = {{"p50", times.quantile(500'000)},     {"p99", times.quantile(990'000)},
                   {"p99.9", times.quantile(999'000)},   {"p99.99", times.quantile(999'900)},
                   {"p99.999", times.quantile(999'990)}, {"max", times.most()}};
    for (const auto& figure : figures)
      std::printf("\"%s/%s\": %.0f, ", what, figure.name, static_cast<double>(figure.value) / ticks);
  };
  std::printf("{");
  print("malloc", measured.allocation);
  print("free", measured.release);
  print("empty", measured.empty);
  std::printf("\"refused\": %llu, \"faults\": %ld, \"real_time\": %s, \"announced\": %s}\n",
              static_cast<unsigned long long>(measured.refused), measured.faults,
              measured.is_real_time ? "true" : "false", measured.is_announced ? "true" : "false");
  return 0;
}
