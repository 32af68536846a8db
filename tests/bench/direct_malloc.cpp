// A library in the clothes of bench/harness/allocators/tlsf_shim: heaps that are called directly, over malloc. Their
// pools are only counted, so that one that is too small refuses as a pool does.
#include <cstddef>
#include <cstdlib>

#include <malloc.h>

#define SHOWN extern "C" __attribute__((visibility("default")))

namespace {

struct Heap {
  size_t pool;
  size_t used;
};

}  // namespace

SHOWN size_t rlsf_state_bytes() { return sizeof(Heap); }
SHOWN bool rlsf_open(Heap* heap, void*, size_t bytes) {
  *heap = {bytes, 0};
  return true;
}
SHOWN void* rlsf_allocate(Heap* heap, size_t bytes) {
  void* const block = std::malloc(bytes);
  heap->used += malloc_usable_size(block);
  if (heap->used <= heap->pool) return block;
  heap->used -= malloc_usable_size(block);
  std::free(block);
  return nullptr;
}
SHOWN void rlsf_free(Heap* heap, void* block) {
  heap->used -= malloc_usable_size(block);
  std::free(block);
}
