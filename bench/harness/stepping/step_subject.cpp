// The program that is stepped: calls malloc, realloc, aligned_alloc, free, operator new and operator delete(void*,
// size_t) of what is preloaded, warm, and counts each call's instructions. step_count runs it and reads what it prints:
// "name instructions operations".
//
//   step_subject single    single calls of ten sizes
//   step_subject batch     batches of 512, local and remote
//   step_subject sweep     single calls of eight sizes per doubling up to 256 KiB, to find cliffs
//   step_subject pairs     pairs of malloc and free, 2048 blocks at a time, what caches and checks now and then do
//   included
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string_view>

#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <snug/heap.h>

#include "instruction_stepper.h"

namespace snug::stepping {
namespace {

using Malloc = void* (*)(size_t);
using Free = void (*)(void*);
using Realloc = void* (*)(void*, size_t);
using AlignedAlloc = void* (*)(size_t, size_t);
using SizedDelete = void (*)(void*, size_t) noexcept;

constexpr size_t kSizes[] = {16, 64, 256, 1024, 1040, 4096, 20480, 65536, 131072, 262144};
constexpr size_t kBatchSizes[] = {64, 4000};
constexpr int kSamples = 5;
constexpr int kWarmPairs = 64;
constexpr int kWarmBlocks = 12;
// Blocks that stay live meanwhile, or freeing the last one of its size would be what is measured.
constexpr int kHeldBlocks = 4;

template <typename Function>
Function find(const char* symbol) {
  void* const address = dlsym(RTLD_DEFAULT, symbol);
  if (address == nullptr) std::abort();
  return reinterpret_cast<Function>(address);
}

const void* address_of(auto function) { return reinterpret_cast<const void*>(function); }

// Must live until the call that it names has returned.
struct Name {
  char text[48];
  Name(const char* what, size_t size) { std::snprintf(text, sizeof text, "%s/%zu", what, size); }
};

// Runs `sample` several times on a warm path: caches filled, some blocks of the size alive.
template <typename Allocate, typename Release, typename Sample>
void while_warm(size_t size, Allocate allocate, Release release, Sample sample) {
  for (int i = 0; i < kWarmPairs; ++i) release(allocate(size), size);
  void* blocks[kWarmBlocks];
  for (void*& block : blocks) block = allocate(size);
  for (int i = kHeldBlocks; i < kWarmBlocks; ++i) release(blocks[i], size);
  for (int i = 0; i < kSamples; ++i) sample();
  for (int i = 0; i < kHeldBlocks; ++i) release(blocks[i], size);
}

void count_malloc_free(Malloc allocate, Free release, size_t size, const char* malloc_of = "malloc",
                       const char* free_of = "free") {
  const Name malloc_name(malloc_of, size);
  const Name free_name(free_of, size);
  const auto release_unsized = [release](void* block, size_t) { release(block); };
  while_warm(size, allocate, release_unsized, [&] {
    arm(address_of(allocate), malloc_name.text, 1);
    void* const block = allocate(size);
    arm(address_of(release), free_name.text, 1);
    release(block);
  });
}

// To the size that the block has: it stays where it is.
void count_realloc_in_place(Malloc allocate, Free release, Realloc resize, size_t size) {
  const Name name("realloc_in_place", size);
  const auto release_unsized = [release](void* block, size_t) { release(block); };
  while_warm(size, allocate, release_unsized, [&] {
    void* const block = allocate(size);
    arm(address_of(resize), name.text, 1);
    release(resize(block, size));
  });
}

// To a cache line.
void count_aligned_alloc(AlignedAlloc align, Free release, size_t size) {
  const Name name("aligned_alloc", size);
  const auto allocate = [align](size_t bytes) { return align(64, bytes); };
  const auto release_unsized = [release](void* block, size_t) { release(block); };
  while_warm(size, allocate, release_unsized, [&] {
    arm(address_of(align), name.text, 1);
    release(allocate(size));
  });
}

void count_operators(Malloc allocate, SizedDelete release, size_t size) {
  const Name new_name("new", size);
  const Name delete_name("delete_sized", size);
  while_warm(size, allocate, release, [&] {
    arm(address_of(allocate), new_name.text, 1);
    void* const block = allocate(size);
    arm(address_of(release), delete_name.text, 1);
    release(block, size);
  });
}

// Of a heap that the program has made (include/snug/heap.h): snug_heap_malloc, and free of its block.
void count_heap(void* heap, const char* malloc_of, const char* free_of, Free release) {
  const auto allocate = find<void* (*)(void*, size_t)>("snug_heap_malloc");
  const auto release_unsized = [release](void* block, size_t) { release(block); };
  for (const size_t size : kSizes) {
    const Name malloc_name(malloc_of, size);
    const Name free_name(free_of, size);
    while_warm(
        size, [&](size_t bytes) { return allocate(heap, bytes); }, release_unsized,
        [&] {
          arm(address_of(allocate), malloc_name.text, 1);
          void* const block = allocate(heap, size);
          arm(address_of(release), free_name.text, 1);
          release(block);
        });
  }
}

// The same in a scope of the heap, by malloc.
void count_scope(void* heap, Malloc allocate, Free release) {
  const auto enter = find<void* (*)(void*)>("snug_heap_enter");
  for (const size_t size : kSizes) {
    void* const before = enter(heap);
    count_malloc_free(allocate, release, size, "scope_malloc", "scope_free");
    enter(before);
  }
}

// A heap's region, longer than what is counted needs.
alignas(1 << 14) char region[16 << 20];

// Where the allocator has such heaps.
void count_own_heaps(Malloc allocate, Free release) {
  const auto create = reinterpret_cast<void* (*)(const snug_heap_options*)>(dlsym(RTLD_DEFAULT, "snug_heap_create"));
  if (create == nullptr) return;
  void* const heap = create(nullptr);
  count_heap(heap, "heap_malloc", "heap_free", release);
  count_scope(heap, allocate, release);
  snug_heap_options options{};
  options.size = sizeof options;
  options.region = region;
  options.region_bytes = sizeof region;
  count_heap(create(&options), "region_malloc", "region_free", release);
}

// ---- batches: the whole body of a tight loop, the call through the PLT included --------------------------------

constexpr int kBatch = 512;
constexpr int kWarmRounds = 16;
constexpr int kCountedRounds = 2;

void* blocks[kBatch];

[[gnu::noinline]] void allocate_batch(size_t size) {
  for (void*& block : blocks) block = std::malloc(size);
}

[[gnu::noinline]] void free_batch(size_t) {
  for (void* block : blocks) std::free(block);
}

using Loop = void (*)(size_t);

void run_loop(Loop loop, size_t size, const char* name, bool counted) {
  if (counted) arm(address_of(loop), name, kBatch);
  // Called through a volatile pointer, or the compiler may clone the loop for a constant size.
  Loop volatile callee = loop;
  callee(size);
}

void count_local_batches(size_t size) {
  const Name allocation("batch_malloc", size);
  const Name release("batch_free", size);
  for (int round = 0; round < kWarmRounds + kCountedRounds; ++round) {
    run_loop(allocate_batch, size, allocation.text, round >= kWarmRounds);
    run_loop(free_batch, size, release.text, round >= kWarmRounds);
  }
}

struct Remote {
  size_t size;
  sem_t full;
  sem_t empty;
};

void* free_remotely(void* argument) {
  auto* const remote = static_cast<Remote*>(argument);
  const Name release("batch_remote_free", remote->size);
  for (int round = 0; round < kWarmRounds + kCountedRounds; ++round) {
    sem_wait(&remote->full);
    run_loop(free_batch, remote->size, release.text, round >= kWarmRounds);
    sem_post(&remote->empty);
  }
  return nullptr;
}

void count_remote_batches(size_t size) {
  Remote remote{size, {}, {}};
  sem_init(&remote.full, 0, 0);
  sem_init(&remote.empty, 0, 0);
  pthread_t thread;
  if (pthread_create(&thread, nullptr, free_remotely, &remote) != 0) std::abort();
  // What the owner pays to take them back is booked too: a cheap remote free must not hide there.
  const Name allocation("batch_malloc_after_remote", size);
  for (int round = 0; round < kWarmRounds + kCountedRounds; ++round) {
    run_loop(allocate_batch, size, allocation.text, round >= kWarmRounds);
    sem_post(&remote.full);
    sem_wait(&remote.empty);
  }
  pthread_join(thread, nullptr);
}

// ---- pairs: more blocks than a thread caches, so that each refill and flush has its share -----------------------

constexpr size_t kPairSizes[] = {100, 1000};
constexpr int kPairs = 2048;
// More than a quarantine of 4 MiB holds.
constexpr int kWarmPairRounds = 64;
// Of each size, rounds are counted until they come to this. Stepping is slow.
constexpr uint64_t kCountedInstructions = 300'000;

[[gnu::noinline]] void allocate_and_free(size_t size) {
  static void* taken[kPairs];
  for (void*& block : taken) block = std::malloc(size);
  for (void* block : taken) std::free(block);
}

void count_pairs(size_t size) {
  const Name pair("batch_pair", size);
  Loop volatile callee = allocate_and_free;
  for (int round = 0; round < kWarmPairRounds; ++round) callee(size);
  for (uint64_t counted = 0; counted < kCountedInstructions;) {
    arm(address_of(&allocate_and_free), pair.text, kPairs);
    callee(size);
    counted += sample_at(sample_count() - 1).instructions;
  }
}

// ---- calibration ------------------------------------------------------------------------------------------------

[[gnu::naked, gnu::noinline]] void five_instructions() { asm("nop\nxor %eax, %eax\njmp 1f\n1: nop\nret"); }

void calibrate() {
  arm(address_of(&five_instructions), "calibration", 1);
  five_instructions();
}

void sweep(Malloc allocate, Free release) {
  for (size_t doubling = 16; doubling < 262144; doubling *= 2) {
    for (size_t eighth = 0; eighth < 8; ++eighth) {
      if (doubling < 128 && doubling * eighth % 128 != 0) continue;  // finer than any class
      count_malloc_free(allocate, release, doubling + doubling / 8 * eighth);
    }
  }
}

void print_samples() {
  for (size_t i = 0; i < sample_count(); ++i) {
    const Sample& sample = sample_at(i);
    std::printf("%s %llu %llu\n", sample.name, static_cast<unsigned long long>(sample.instructions),
                static_cast<unsigned long long>(sample.operations));
  }
}

}  // namespace
}  // namespace snug::stepping

int main(int argc, char** argv) {
  using namespace snug::stepping;
  install_stepper();
  const auto allocate = find<Malloc>("malloc");
  const auto release = find<Free>("free");
  // By name in the code as well: the linker drops a C++ runtime that nothing refers to.
  const Malloc operator_new = static_cast<Malloc>(::operator new);
  const SizedDelete operator_delete = static_cast<SizedDelete>(::operator delete);
  calibrate();
  const std::string_view kind = argc > 1 ? argv[1] : "";
  if (kind == "single") {
    const auto resize = find<Realloc>("realloc");
    const auto align = find<AlignedAlloc>("aligned_alloc");
    for (const size_t size : kSizes) count_malloc_free(allocate, release, size);
    for (const size_t size : kSizes) count_realloc_in_place(allocate, release, resize, size);
    for (const size_t size : kSizes) count_aligned_alloc(align, release, size);
    for (const size_t size : kSizes) count_operators(operator_new, operator_delete, size);
    count_own_heaps(allocate, release);
  } else if (kind == "batch") {
    for (const size_t size : kBatchSizes) {
      count_local_batches(size);
      count_remote_batches(size);
    }
  } else if (kind == "pairs") {
    for (const size_t size : kPairSizes) count_pairs(size);
  } else if (kind == "sweep") {
    sweep(allocate, release);
  } else {
    return 2;
  }
  print_samples();
}
