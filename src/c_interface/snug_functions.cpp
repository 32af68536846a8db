// The C interface under its own names (include/snug/snug.h).
#include "snug/snug.h"

#include <errno.h>
#include <stddef.h>

#include "allocator/allocator.h"
#include "allocator/batch.h"
#include "allocator/blocks.h"
#include "allocator/config.h"
#include "allocator/moving.h"
#include "allocator/statistics.h"
#include "base/fixed_array.h"
#include "base/text.h"
#include "c_interface/c_functions.h"
#include "c_interface/malloc_info.h"
#include "c_interface/process.h"

using namespace snug;

namespace {
SNUG_USED const char* const process_hooks = &kProcessHooks;

// The header's three numbers with points between them.
constexpr auto kVersion = [] {
  static_assert(SNUG_VERSION_MAJOR < 100 && SNUG_VERSION_MINOR < 100 && SNUG_VERSION_PATCH < 100);
  FixedArray<char, sizeof "99.99.99"> text{};
  size_t length = 0;
  for (const int number : FixedArray{SNUG_VERSION_MAJOR, SNUG_VERSION_MINOR, SNUG_VERSION_PATCH}) {
    if (length > 0) text[length++] = '.';
    if (number >= 10) text[length++] = static_cast<char>('0' + number / 10);
    text[length++] = static_cast<char>('0' + number % 10);
  }
  return text;
}();
}  // namespace

extern "C" {

SNUG_EXPORT const char* snug_version(void) { return kVersion.data(); }

SNUG_EXPORT void* snug_malloc(size_t size) { return allocate(size); }
SNUG_EXPORT void* snug_calloc(size_t count, size_t size) { return allocate_zeroed(count, size); }
SNUG_EXPORT void* snug_realloc(void* block, size_t size) { return reallocate(block, size); }
SNUG_EXPORT void* snug_reallocarray(void* block, size_t count, size_t size) {
  return reallocate_array(block, count, size);
}
SNUG_EXPORT void* snug_aligned_calloc(size_t alignment, size_t count, size_t size) {
  return is_power_of_two(alignment) ? allocate_aligned_zeroed(alignment, count, size) : refuse(EINVAL);
}
SNUG_EXPORT void* snug_realloc_zeroed(void* block, size_t old_size, size_t new_size) {
  if (block == nullptr) return allocate_zeroed(1, new_size);
  if (new_size != 0) return resize_zeroed(block, old_size, new_size, "snug_realloc_zeroed");
  deallocate(block);
  return nullptr;
}
SNUG_EXPORT void snug_free(void* block) { deallocate(block); }
SNUG_EXPORT void snug_free_sized(void* block, size_t size) { deallocate_told(block, size); }
SNUG_EXPORT void snug_free_aligned_sized(void* block, size_t, size_t size) { deallocate_told(block, size); }
SNUG_EXPORT void* snug_aligned_alloc(size_t alignment, size_t size) { return align(alignment, size); }
SNUG_EXPORT int snug_posix_memalign(void** block, size_t alignment, size_t size) {
  return align_posix(block, alignment, size);
}
SNUG_EXPORT void* snug_memalign(size_t alignment, size_t size) { return align(alignment, size); }
SNUG_EXPORT void* snug_valloc(size_t size) { return align_to_page(size); }
SNUG_EXPORT void* snug_pvalloc(size_t size) { return align_to_whole_pages(size); }
SNUG_EXPORT size_t snug_malloc_usable_size(void* block) { return usable_size(block, "malloc_usable_size"); }

SNUG_EXPORT void* snug_malloc_sized(size_t size, size_t* usable) {
  void* const block = allocate(size);
  *usable = usable_size(block, "snug_malloc_sized");
  return block;
}
SNUG_EXPORT int snug_try_expand(void* block, size_t size) { return try_expand(block, size, "snug_try_expand") ? 1 : 0; }
SNUG_EXPORT int snug_is_in_heap(const void* address) { return is_in_heap(address) ? 1 : 0; }
SNUG_EXPORT void snug_thread_idle(void) { empty_own_caches(); }

SNUG_EXPORT size_t snug_malloc_batch(size_t size, void** blocks, size_t count) {
  return allocate_batch(size, blocks, count);
}
SNUG_EXPORT void snug_free_batch(void* const* blocks, size_t count) { deallocate_batch(blocks, count); }

SNUG_EXPORT int snug_should_move(const void* block) {
  void* const one = const_cast<void*>(block);
  unsigned char answer;
  return static_cast<int>(should_move_batch(&one, 1, &answer));
}
SNUG_EXPORT size_t snug_should_move_batch(void* const* blocks, size_t count, unsigned char* answers) {
  return should_move_batch(blocks, count, answers);
}
SNUG_EXPORT void* snug_malloc_uncached(size_t size) { return allocate_uncached(size); }
SNUG_EXPORT void snug_free_uncached(void* block) { deallocate_uncached(block); }

SNUG_EXPORT int snug_malloc_trim(size_t pad) { return trim(pad) ? 1 : 0; }
SNUG_EXPORT size_t snug_purge(size_t bytes) { return purge(bytes); }
SNUG_EXPORT int snug_get_stats(snug_stats* stats) {
  *stats = gather_statistics();
  return 0;
}
SNUG_EXPORT int snug_get_memory(struct snug_memory* memory) { return gather_memory(*memory) ? 0 : -1; }
SNUG_EXPORT struct snug_mallinfo snug_mallinfo2(void) { return gather_mallinfo(); }
SNUG_EXPORT void snug_malloc_stats(void) { print_statistics(); }
SNUG_EXPORT int snug_malloc_info(int options, FILE* stream) { return write_malloc_info(options, stream); }
SNUG_EXPORT int snug_mallopt(int parameter, int value) { return set_option(parameter, value); }
SNUG_EXPORT const char* snug_check(int all_heaps) { return check(all_heaps != 0); }

SNUG_EXPORT int snug_config_get(size_t index, snug_config_entry* entry) {
  static char values[kConfigKeys][sizeof(Config::report)];
  static char defaults[kConfigKeys][32];
  if (index >= kConfigKeys) return -1;
  allocator.open();
  print_config_value(allocator.config, index, values[index], sizeof values[index]);
  print_config_value(Config(), index, defaults[index], sizeof defaults[index]);
  const ConfigKey& key = kConfigTable[index];
  *entry = {key.key, key.unit, defaults[index], values[index], allocator.origin_of(index), key.help};
  return 0;
}

SNUG_EXPORT int snug_set(const char* settings) {
  Text<256> message;  // for tools
  return answer(allocator.change_settings(settings, message));
}

}  // extern "C"
