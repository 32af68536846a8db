#include "replay/subject.h"

#include <dlfcn.h>
#include <malloc.h>
#include <stdlib.h>

#include <bit>

#include "replay/operators.h"
#include "snug/snug.h"

// Null where the allocator is not snug.
extern "C" REPLAYER_WEAK int snug_get_stats(snug_stats* stats);
// Null where neither the allocator nor the C library has them: glibc has the first since 2.26, the second since 2.33,
// and musl neither the second nor the last two.
extern "C" REPLAYER_WEAK void* found_reallocarray(void* block, std::size_t count, std::size_t size) asm("reallocarray");
extern "C" REPLAYER_WEAK snug::trace::Mallinfo2 found_mallinfo2() asm("mallinfo2");
extern "C" REPLAYER_WEAK void* found_pvalloc(std::size_t size) asm("pvalloc");
extern "C" REPLAYER_WEAK int found_malloc_trim(std::size_t kept) asm("malloc_trim");

namespace snug::replayer {

using trace::Operation;

namespace {

const void* file_of(const void* function) {
  Dl_info info;
  return function != nullptr && dladdr(function, &info) != 0 ? info.dli_fbase : nullptr;
}

// The function, if it lies in the same file as malloc.
template <class Function>
Function* own(Function* function) {
  const void* const file = file_of(reinterpret_cast<const void*>(&::malloc));
  return file_of(reinterpret_cast<const void*>(function)) == file ? function : nullptr;
}

}  // namespace

void Subject::find() {
  reallocarray_ = own(&::found_reallocarray);
  aligned_alloc_ = own(&::aligned_alloc);
  memalign_ = own(&::memalign);
  posix_memalign_ = own(&::posix_memalign);
  valloc_ = own(&::valloc);
  pvalloc_ = own(&::found_pvalloc);
  free_sized_ = own(&::free_sized);
  free_aligned_sized_ = own(&::free_aligned_sized);
  usable_size_ = own(&::malloc_usable_size);
  trim_ = own(&::found_malloc_trim);
  mallinfo2_ = own(&::found_mallinfo2);
  snug_get_stats_ = own(&::snug_get_stats);
  has_operators_ = own(&::_Znwm) != nullptr && own(&::_ZdlPv) != nullptr;
}

void* Subject::allocate_aligned(std::size_t size, std::size_t alignment) const {
  if (aligned_alloc_ != nullptr) return aligned_alloc_(alignment, size);
  if (memalign_ != nullptr) return memalign_(alignment, size);
  void* block = nullptr;
  return posix_memalign_ != nullptr && posix_memalign_(&block, alignment, size) == 0 ? block : nullptr;
}

void* Subject::allocate_rounded(std::size_t size, std::size_t alignment) const {
  if (size > SIZE_MAX - (alignment - 1)) return nullptr;
  return allocate_aligned((size + alignment - 1) & ~(alignment - 1), alignment);
}

void* Subject::allocate(Operation operation, std::size_t size, std::size_t alignment) const {
  switch (operation) {
    case Operation::kMalloc:
    case Operation::kFound:
      return ::malloc(size);
    case Operation::kCalloc:
      return ::calloc(1, size);
    case Operation::kAlignedAlloc:
      return allocate_aligned(size, alignment);
    case Operation::kMemalign:
      return memalign_ != nullptr ? memalign_(alignment, size) : allocate_aligned(size, alignment);
    case Operation::kPosixMemalign: {
      void* block = nullptr;
      if (posix_memalign_ == nullptr) return allocate_aligned(size, alignment);
      return posix_memalign_(&block, alignment, size) == 0 ? block : nullptr;
    }
    case Operation::kValloc:
      return valloc_ != nullptr ? valloc_(size) : allocate_aligned(size, kPage);
    case Operation::kPvalloc:
      return pvalloc_ != nullptr ? pvalloc_(size) : allocate_rounded(size, kPage);
    default:
      return allocate_by_operator(operation, size, alignment);
  }
}

// Calls the operators that do not throw, and for those that the allocator does not have, what the C++ runtime's would
// call: one that throws would end the replayer instead of being counted as a failure.
void* Subject::allocate_by_operator(Operation operation, std::size_t size, std::size_t alignment) const {
  if (operation >= Operation::kNewAligned && !std::has_single_bit(alignment)) return nullptr;
  if (!has_operators_) {
    const std::size_t asked = size == 0 ? 1 : size;
    return alignment == 0 ? ::malloc(asked) : allocate_rounded(asked, alignment);
  }
  constexpr NoThrow kNoThrow;
  switch (operation) {
    case Operation::kNewArray:
    case Operation::kNewArrayNothrow:
      if (_ZnamRKSt9nothrow_t != nullptr) return _ZnamRKSt9nothrow_t(size, kNoThrow);
      if (_Znam != nullptr) return _Znam(size);
      break;
    case Operation::kNewAligned:
    case Operation::kNewAlignedNothrow:
      if (_ZnwmSt11align_val_tRKSt9nothrow_t != nullptr)
        return _ZnwmSt11align_val_tRKSt9nothrow_t(size, alignment, kNoThrow);
      if (_ZnwmSt11align_val_t != nullptr) return _ZnwmSt11align_val_t(size, alignment);
      return allocate_rounded(size, alignment);
    case Operation::kNewArrayAligned:
    case Operation::kNewArrayAlignedNothrow:
      if (_ZnamSt11align_val_tRKSt9nothrow_t != nullptr)
        return _ZnamSt11align_val_tRKSt9nothrow_t(size, alignment, kNoThrow);
      if (_ZnamSt11align_val_t != nullptr) return _ZnamSt11align_val_t(size, alignment);
      return allocate_rounded(size, alignment);
    default:
      break;
  }
  return _ZnwmRKSt9nothrow_t != nullptr ? _ZnwmRKSt9nothrow_t(size, kNoThrow) : _Znwm(size);
}

void* Subject::reallocate(Operation operation, void* block, std::size_t /*size_before*/, std::size_t size) const {
  if (operation == Operation::kReallocarray && reallocarray_ != nullptr) return reallocarray_(block, 1, size);
  return ::realloc(block, size);
}

void Subject::free(Operation operation, void* block, std::size_t size, std::size_t alignment) const {
  switch (operation) {
    case Operation::kFree:
      return ::free(block);
    case Operation::kFreeSized:
      return free_sized_ != nullptr ? free_sized_(block, size) : ::free(block);
    case Operation::kFreeAlignedSized:
      return free_aligned_sized_ != nullptr ? free_aligned_sized_(block, alignment, size) : ::free(block);
    default:
      return has_operators_ ? free_by_operator(operation, block, size, alignment) : ::free(block);
  }
}

void Subject::free_by_operator(Operation operation, void* block, std::size_t size, std::size_t alignment) const {
  constexpr NoThrow kNoThrow;
  switch (operation) {
    case Operation::kDeleteArray:
      if (_ZdaPv != nullptr) return _ZdaPv(block);
      break;
    case Operation::kDeleteNothrow:
      if (_ZdlPvRKSt9nothrow_t != nullptr) return _ZdlPvRKSt9nothrow_t(block, kNoThrow);
      break;
    case Operation::kDeleteArrayNothrow:
      if (_ZdaPvRKSt9nothrow_t != nullptr) return _ZdaPvRKSt9nothrow_t(block, kNoThrow);
      break;
    case Operation::kDeleteSized:
      if (_ZdlPvm != nullptr) return _ZdlPvm(block, size);
      break;
    case Operation::kDeleteArraySized:
      if (_ZdaPvm != nullptr) return _ZdaPvm(block, size);
      break;
    case Operation::kDeleteAligned:
      if (_ZdlPvSt11align_val_t != nullptr) return _ZdlPvSt11align_val_t(block, alignment);
      break;
    case Operation::kDeleteArrayAligned:
      if (_ZdaPvSt11align_val_t != nullptr) return _ZdaPvSt11align_val_t(block, alignment);
      break;
    case Operation::kDeleteAlignedNothrow:
      if (_ZdlPvSt11align_val_tRKSt9nothrow_t != nullptr)
        return _ZdlPvSt11align_val_tRKSt9nothrow_t(block, alignment, kNoThrow);
      break;
    case Operation::kDeleteArrayAlignedNothrow:
      if (_ZdaPvSt11align_val_tRKSt9nothrow_t != nullptr)
        return _ZdaPvSt11align_val_tRKSt9nothrow_t(block, alignment, kNoThrow);
      break;
    case Operation::kDeleteSizedAligned:
      if (_ZdlPvmSt11align_val_t != nullptr) return _ZdlPvmSt11align_val_t(block, size, alignment);
      break;
    case Operation::kDeleteArraySizedAligned:
      if (_ZdaPvmSt11align_val_t != nullptr) return _ZdaPvmSt11align_val_t(block, size, alignment);
      break;
    default:
      break;
  }
  _ZdlPv(block);
}

std::size_t Subject::usable_size(void* block) const { return usable_size_ != nullptr ? usable_size_(block) : 0; }

void Subject::trim(std::size_t kept) const {
  if (trim_ != nullptr) trim_(kept);
}

bool Subject::read_mallinfo(std::uint64_t (&fields)[10]) const {
  if (mallinfo2_ == nullptr) return false;
  const trace::Mallinfo2 info = mallinfo2_();
  for (std::size_t i = 0; i < trace::kMallinfoFields; ++i) fields[i] = info.fields[i];
  return true;
}

bool Subject::read_snug(SnugMemory& memory) const {
  snug_stats stats{};
  if (snug_get_stats_ == nullptr || snug_get_stats_(&stats) != 0) return false;
  memory = {.in_use = stats.bytes_in_use,
            .large = stats.bytes_large,
            .in_slabs = stats.bytes_in_slabs,
            .cached = stats.bytes_cached,
            .retained = stats.bytes_retained,
            .metadata = stats.bytes_metadata};
  return true;
}

}  // namespace snug::replayer
