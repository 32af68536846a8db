// A program that defines the malloc family itself, and takes operators new and delete from the runtime. Both must use
// one heap, the program's, which knows its blocks by their addresses.
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

alignas(4096) std::byte heap[std::size_t{1} << 20];
std::size_t used = 0;

bool is_ours(const void* block) {
  return reinterpret_cast<std::uintptr_t>(block) - reinterpret_cast<std::uintptr_t>(heap) < sizeof heap;
}

void* take(std::size_t alignment, std::size_t bytes) {
  if (alignment < 16) alignment = 16;
  const std::size_t begin = (used + alignment - 1) / alignment * alignment;
  if (bytes > sizeof heap - begin) return nullptr;
  used = begin + bytes;
  return heap + begin;
}

}  // namespace

extern "C" {

void* malloc(std::size_t bytes) { return take(16, bytes); }
void* aligned_alloc(std::size_t alignment, std::size_t bytes) { return take(alignment, bytes); }
// Debian 13's runtime has aligned blocks from this one.
int posix_memalign(void** block, std::size_t alignment, std::size_t bytes) {
  *block = take(alignment, bytes);
  return *block != nullptr ? 0 : ENOMEM;
}
void* calloc(std::size_t count, std::size_t bytes) { return take(16, count * bytes); }
void* realloc(void* block, std::size_t bytes) {
  void* const moved = take(16, bytes);
  if (block != nullptr && moved != nullptr) std::memmove(moved, block, bytes);
  return moved;
}
void free(void* block) {
  if (block != nullptr && !is_ours(block)) _Exit(3);
}

}  // extern "C"

int main() {
  void* const plain = ::operator new(24);
  void* const aligned = ::operator new(24, std::align_val_t{64});
  const bool is_one_heap = is_ours(plain) && is_ours(aligned);
  std::free(plain);
  ::operator delete(aligned, std::align_val_t{64});
  std::puts(is_one_heap ? "one heap" : "two heaps");
  return 0;
}
