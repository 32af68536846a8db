// s1_server: many threads that serve requests over shared sessions, as in the load on which Scudo's Dense was found 3%
// faster and 10% smaller than the map before it. `snug-seeds S1` runs it on each map and compares.
//
// A request is a buffer, a list of small objects, and a session; it replaces the session's state: what it frees was
// mostly made by another thread. In the load `short` every list has 12 objects, two of a class or so; in `long` one in
// 16 has 600, many more of a class than Dense caches: caches that can fill up do, and lie full in many threads.
#include <atomic>

#include "proc_field.h"
#include "workload.h"

namespace workload {
namespace {

constexpr size_t kSessions = 8192;
constexpr size_t kObjects = 12;  // of a usual request
constexpr size_t kManyObjects = 600;
constexpr size_t kLongEvery = 16;
constexpr size_t kBigBufferEvery = 32;

struct Object {
  Object* next;
  size_t size;
};

Object* make(size_t size) {
  void* const block = std::malloc(size);
  if (block == nullptr) fail("out of memory");
  std::memset(block, 0x5a, size);
  auto* const object = static_cast<Object*>(block);
  object->size = size;
  return object;
}

// Checks what make() wrote at the block's end.
void drop(Object* object) {
  if (object == nullptr) return;
  if (object->size > sizeof(Object) && reinterpret_cast<unsigned char*>(object)[object->size - 1] != 0x5a)
    fail("a block was damaged");
  std::free(object);
}

void serve(Random& random, Array<std::atomic<Object*>>& sessions, size_t long_list) {
  const bool has_big_buffer = random.below(kBigBufferEvery) == 0;
  Object* const buffer = make(has_big_buffer ? random.log_between(8192, 131072) : random.log_between(64, 8192));
  const size_t count = random.below(kLongEvery) == 0 ? long_list : kObjects;
  Object* list = nullptr;
  for (size_t i = 0; i < count; ++i) {
    Object* const object = make(random.log_between(16, 1024));
    object->next = list;
    list = object;
  }
  Object* const state = make(random.log_between(32, 4096));
  drop(sessions[random.below(kSessions)].exchange(state, std::memory_order_acq_rel));
  while (list != nullptr) {
    Object* const next = list->next;
    drop(list);
    list = next;
  }
  drop(buffer);
}

// KiB that were resident at the most so far.
double peak_rss_kib() {
  const std::optional<size_t> kib = proc_field_kib("/proc/self/status", "VmHWM:");
  if (!kib) fail("no VmHWM in /proc/self/status");
  return static_cast<double>(*kib);
}

// Requests a second in thousands, and the peak.
std::array<double, 2> run(const Options& options, uint64_t seed, size_t long_list) {
  Array<std::atomic<Object*>> sessions(kSessions);
  const size_t requests = scaled(options, 600'000.0 / options.threads);
  const double ns = run_threads(options.threads, [&](unsigned t) {
    Random random(seed * 1000 + t);
    for (size_t i = 0; i < requests; ++i) serve(random, sessions, long_list);
  });
  const double peak = peak_rss_kib();
  for (std::atomic<Object*>& session : sessions) drop(session.load());
  return {static_cast<double>(requests * options.threads) / ns * 1e6, peak};
}

}  // namespace

const Program kProgram = {
    .name = "s1_server",
    .what =
        R"(Each thread serves requests: a buffer, a list of objects of 16 to 1024 bytes, and a session shared by all threads
of which it replaces the state, freeing what another thread has made. Each round runs in a process of its own. The load
on which Scudo's Dense size classes were tried: for comparing maps, SNUG_CONF=classes:dense, or a file that
`snug classes` has written.)",
    .figures =
        "requests/LOAD: thousands a second over all threads; peak_rss/LOAD: KiB. LOAD: short, of 12 objects a "
        "request; long, with 600 in one of 16.",
    .threads = "threads, more than cores to make them contend",
    .defaults = {.threads = 32}};

void measure_all(const Options& options, Report& report) {
  const auto measure = [&](const std::string& load, size_t long_list) {
    const Report::Figure figures[] = {{"requests/" + load, "k/s"}, {"peak_rss/" + load, "KiB"}};
    report.measure(figures, [&](uint64_t seed) { return in_child([&] { return run(options, seed, long_list); }); });
  };
  measure("short", kObjects);
  measure("long", kManyObjects);
}

}  // namespace workload
