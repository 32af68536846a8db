// A program of which each stack's bytes are known: holds memory by a few functions, over threads, hand-overs, realloc
// and a fork, and compares what the heap profile says of each with what it holds. To be run with the drop-in, of which
// it finds the functions by name. Ends with 1, and a line for each stack, if one that has 5% of the heap or more is
// off by more than the bound.
//
//   known_heap THREADS BOUND_IN_PERCENT [MIB]
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "snug/profile.h"

namespace {

constexpr size_t kMiB = size_t{1} << 20;

std::atomic<uint64_t> held[6];

// Each of these is a stack of its own: the caller of malloc.
__attribute__((noinline)) void* small(size_t size) {
  void* block = malloc(size);
  __asm__ volatile("" : : "r"(block) : "memory");
  return block;
}
__attribute__((noinline)) void* mixed(size_t size) {
  void* block = malloc(size);
  __asm__ volatile("" : : "r"(block) : "memory");
  return block;
}
__attribute__((noinline)) void* zeroed(size_t size) {
  void* block = calloc(1, size);
  __asm__ volatile("" : : "r"(block) : "memory");
  return block;
}
__attribute__((noinline)) void* large(size_t size) {
  void* block = malloc(size);
  __asm__ volatile("" : : "r"(block) : "memory");
  return block;
}
__attribute__((noinline)) void* grown(void* old, size_t size) {
  void* block = realloc(old, size);
  __asm__ volatile("" : : "r"(block) : "memory");
  return block;
}
__attribute__((noinline)) void* temporary(size_t size) {
  void* block = malloc(size);
  __asm__ volatile("" : : "r"(block) : "memory");
  return block;
}

struct Known {
  const char* name;
  const void* start;
};
const Known kKnown[6] = {
    {"small", reinterpret_cast<const void*>(&small)},   {"mixed", reinterpret_cast<const void*>(&mixed)},
    {"zeroed", reinterpret_cast<const void*>(&zeroed)}, {"large", reinterpret_cast<const void*>(&large)},
    {"grown", reinterpret_cast<const void*>(&grown)},   {"temporary", reinterpret_cast<const void*>(&temporary)}};

std::vector<void*> hold(size_t bytes, unsigned part, unsigned parts) {
  std::vector<void*> blocks;
  unsigned seed = 1 + part;
  const auto next = [&seed] { return (seed = seed * 1103515245 + 12345) >> 16; };
  const auto fill = [&](size_t kind, size_t share, auto make) {
    for (size_t sum = 0; sum < bytes * share / 100 / parts;) {
      const size_t size = make();
      sum += size;
      held[kind] += size;
    }
  };
  // A loop that allocates and frees the same blocks, between the others: never live.
  const auto churn = [] {
    void* block = temporary(64);
    free(block);
  };
  fill(0, 10, [&] {
    churn();
    blocks.push_back(small(48));
    return size_t{48};
  });
  fill(1, 25, [&] {
    const size_t size = 16 * (1 + next() % 200);
    churn();
    blocks.push_back(mixed(size));
    return size;
  });
  fill(2, 15, [&] {
    const size_t size = 1024 * (1 + next() % 20);
    blocks.push_back(zeroed(size));
    return size;
  });
  fill(3, 40, [&] {
    const size_t size = 1024 * (100 + next() % 1000);
    blocks.push_back(large(size));
    return size;
  });
  fill(4, 10, [&] {
    void* block = nullptr;
    for (size_t size = 64; size <= 4096; size *= 4) block = grown(block, size);
    blocks.push_back(block);
    return size_t{4096};
  });
  return blocks;
}

template <class Function>
Function* find(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

// What the profile says is live, by function.
bool read_live(double (&live)[6], double* others) {
  const auto write_profile = find<int(int, int)>("snug_profile_write");
  const int file = memfd_create("profile", 0);
  if (write_profile == nullptr || write_profile(file, SNUG_PROFILE_COLLAPSED) != 0) return false;
  lseek(file, 0, SEEK_SET);
  FILE* lines = fdopen(file, "r");
  char line[4096];
  while (fgets(line, sizeof line, lines) != nullptr) {
    const double bytes = atof(strrchr(line, ' ') + 1);
    *strrchr(line, ' ') = 0;
    const char* last = strrchr(line, ';');
    const uintptr_t address = strtoull(last != nullptr ? last + 1 : line, nullptr, 16);
    // Of the functions that begin before the address, the nearest.
    int found = -1;
    for (int i = 0; i != 6; ++i) {
      const auto start = reinterpret_cast<uintptr_t>(kKnown[i].start);
      if (start <= address && address - start < 64 &&
          (found < 0 || start > reinterpret_cast<uintptr_t>(kKnown[found].start)))
        found = i;
    }
    (found < 0 ? *others : live[found]) += bytes;
  }
  fclose(lines);
  return true;
}

bool compare(double bound, const char* when) {
  double live[6] = {};
  double others = 0;
  if (!read_live(live, &others)) {
    fprintf(stderr, "known_heap: there is no profile\n");
    return false;
  }
  double sum = 0;
  for (const auto& bytes : held) sum += static_cast<double>(bytes.load());
  bool right = true;
  for (int i = 0; i != 6; ++i) {
    const auto bytes = static_cast<double>(held[i].load());
    const double off = bytes == 0 ? 0 : 100 * (live[i] - bytes) / bytes;
    const bool is_off = bytes == 0 ? live[i] > 0 : bytes >= sum / 20 && (off > bound || off < -bound);
    right = right && !is_off;
    printf("%s %-9s held %7.1f MiB, profile %7.1f MiB, %+5.1f%%%s\n", when, kKnown[i].name, bytes / kMiB,
           live[i] / kMiB, off, is_off ? "  OFF" : "");
  }
  printf("%s others: %.1f MiB\n", when, others / kMiB);
  fflush(stdout);
  return right;
}

}  // namespace

int main(int argc, char** argv) {
  const unsigned threads = argc > 1 ? static_cast<unsigned>(atoi(argv[1])) : 1;
  const double bound = argc > 2 ? atof(argv[2]) : 10;
  const size_t bytes = (argc > 3 ? static_cast<size_t>(atoi(argv[3])) : 8000) * kMiB;
  std::vector<std::vector<void*>> blocks(threads);
  {
    std::vector<std::thread> crew;
    for (unsigned i = 1; i < threads; ++i) crew.emplace_back([&, i] { blocks[i] = hold(bytes, i, threads); });
    blocks[0] = hold(bytes, 0, threads);
    for (std::thread& one : crew) one.join();
  }
  bool right = compare(bound, "full:");
  if (const pid_t child = fork(); child == 0) {
    const bool child_right = compare(bound, "child:");
    for (void* block : blocks[0]) free(block);
    free(malloc(100000));
    _exit(child_right ? 0 : 1);
  } else {
    int status = 0;
    waitpid(child, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
      printf("the child is wrong: %d\n", status);
      right = false;
    }
  }
  // Each thread's blocks are freed by another.
  std::vector<std::thread> crew;
  for (unsigned i = 0; i != threads; ++i)
    crew.emplace_back([&, i] {
      for (void* block : blocks[(i + 1) % threads]) free(block);
    });
  for (std::thread& one : crew) one.join();
  for (auto& bytes_held : held) bytes_held = 0;
  right = compare(bound, "empty:") && right;
  return right ? 0 : 1;
}
