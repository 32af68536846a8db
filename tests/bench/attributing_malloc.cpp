// A malloc that knows which thread took a block, to be preloaded: glibc's, with a mark and the thread's number behind
// what was asked for. At its end each process appends a line to the file $ATTRIBUTED: frees by the thread that took the
// block, and by another. Blocks of calloc and the like have no mark and are not counted.
#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

struct Mark {
  uint64_t magic;
  uint64_t thread;
};
constexpr uint64_t kMagic = 0x736e75676d61726b;

std::atomic<uint64_t> threads{0};
thread_local uint64_t self = 0;
std::atomic<uint64_t> frees[2];  // own, of others

uint64_t number_of_self() {
  if (self == 0) self = ++threads;
  return self;
}

template <typename Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

char* place_of_mark(void* block) { return static_cast<char*>(block) + malloc_usable_size(block) - sizeof(Mark); }

struct Account {
  ~Account() {
    const char* const path = std::getenv("ATTRIBUTED");
    const int file = path != nullptr ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
    if (file < 0) return;
    dprintf(file, "%llu %llu\n", static_cast<unsigned long long>(frees[0]), static_cast<unsigned long long>(frees[1]));
    close(file);
  }
} account;

}  // namespace

extern "C" void* malloc(size_t size) {
  static auto* const real = next<void*(size_t)>("malloc");
  void* const block = real(size + sizeof(Mark));
  if (block == nullptr) return nullptr;
  const Mark mark{kMagic, number_of_self()};
  std::memcpy(place_of_mark(block), &mark, sizeof mark);
  return block;
}

extern "C" void free(void* block) {
  static auto* const real = next<void(void*)>("free");
  if (block != nullptr) {
    Mark mark;
    std::memcpy(&mark, place_of_mark(block), sizeof mark);
    if (mark.magic == kMagic) {
      ++frees[mark.thread != number_of_self()];
      mark.magic = 0;
      std::memcpy(place_of_mark(block), &mark, sizeof mark);
    }
  }
  real(block);
}
