// cold_start: what the first blocks cost in resident memory: one block in each of 64 sizes up to 1 KiB in the main
// thread, then the same in each further thread. Stresses per-class and per-thread set-up. Most processes of a system
// are small.
#include "footprint.h"

#include <semaphore.h>

namespace workload {
namespace {

constexpr size_t kSizes = 64;

// The program's own share is touched before: stack, and the array of blocks.
void allocate_one_of_each(void** blocks) {
  for (size_t i = 0; i < kSizes; ++i) {
    const size_t size = 16 * (i + 1);
    blocks[i] = std::malloc(size);
    if (blocks[i] == nullptr) fail("out of memory");
    stamp(blocks[i], size);
  }
}

// Of resident memory since there were `before` KiB; the kernel may also have taken some back meanwhile.
double grown_kib(size_t before) { return static_cast<double>(anonymous_kib()) - static_cast<double>(before); }

struct Thread {
  pthread_t id;
  void** blocks;
  sem_t go;
  sem_t started;
  sem_t done;
  sem_t leave;
};

void* live(void* argument) {
  auto* const self = static_cast<Thread*>(argument);
  touch_stack();
  sem_post(&self->started);
  sem_wait(&self->go);
  allocate_one_of_each(self->blocks);
  sem_post(&self->done);
  sem_wait(&self->leave);
  for (size_t i = 0; i < kSizes; ++i) {
    check_stamp(self->blocks[i], 16 * (i + 1));
    std::free(self->blocks[i]);
  }
  return nullptr;
}

}  // namespace

const Program kProgram = {
    .name = "cold_start",
    .what =
        R"(Allocates one block in each of 64 sizes up to 1 KiB in the main thread, then the same in each further thread,
and tells how much resident memory came with them. Most processes of a system are small.)",
    .figures = "first_thread, further_thread (the mean of them): KiB.",
    .threads = "further threads",
    .defaults = {.threads = 8}};

void measure_all(const Options& options, Report& report) {
  Array<void*> blocks(kSizes * (options.threads + 1));
  Array<Thread> threads(options.threads);
  // smaps_rollup itself and the C library's start-up are paid before the first figure.
  anonymous_kib();
  size_t before = anonymous_kib();
  allocate_one_of_each(&blocks[0]);
  report.add("first_thread", std::max(0.0, grown_kib(before)), "KiB");

  for (unsigned t = 0; t < options.threads; ++t) {
    Thread& thread = threads[t];
    thread.blocks = &blocks[kSizes * (t + 1)];
    for (sem_t* semaphore : {&thread.go, &thread.started, &thread.done, &thread.leave}) sem_init(semaphore, 0, 0);
    if (pthread_create(&thread.id, nullptr, live, &thread) != 0) fail("pthread_create");
    sem_wait(&thread.started);
  }
  before = anonymous_kib();
  for (Thread& thread : threads) {
    sem_post(&thread.go);
    sem_wait(&thread.done);
  }
  report.add("further_thread", std::max(0.0, grown_kib(before)) / options.threads, "KiB");
  for (Thread& thread : threads) {
    sem_post(&thread.leave);
    pthread_join(thread.id, nullptr);
  }
}

}  // namespace workload
