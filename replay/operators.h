// Operators new and delete by their symbols, which are null where no library defines them: the replayer is not linked
// to a C++ runtime, which would allocate at its start.
#pragma once

#include <cstddef>

#define REPLAYER_WEAK [[gnu::weak]]

namespace snug::replayer {

struct NoThrow {};

}  // namespace snug::replayer

extern "C" {

// n: std::nothrow_t by reference; A: the alignment.
REPLAYER_WEAK void* _Znwm(std::size_t);
REPLAYER_WEAK void* _Znam(std::size_t);
REPLAYER_WEAK void* _ZnwmRKSt9nothrow_t(std::size_t, const snug::replayer::NoThrow&);
REPLAYER_WEAK void* _ZnamRKSt9nothrow_t(std::size_t, const snug::replayer::NoThrow&);
REPLAYER_WEAK void* _ZnwmSt11align_val_t(std::size_t, std::size_t);
REPLAYER_WEAK void* _ZnamSt11align_val_t(std::size_t, std::size_t);
REPLAYER_WEAK void* _ZnwmSt11align_val_tRKSt9nothrow_t(std::size_t, std::size_t, const snug::replayer::NoThrow&);
REPLAYER_WEAK void* _ZnamSt11align_val_tRKSt9nothrow_t(std::size_t, std::size_t, const snug::replayer::NoThrow&);
REPLAYER_WEAK void _ZdlPv(void*);
REPLAYER_WEAK void _ZdaPv(void*);
REPLAYER_WEAK void _ZdlPvRKSt9nothrow_t(void*, const snug::replayer::NoThrow&);
REPLAYER_WEAK void _ZdaPvRKSt9nothrow_t(void*, const snug::replayer::NoThrow&);
REPLAYER_WEAK void _ZdlPvm(void*, std::size_t);
REPLAYER_WEAK void _ZdaPvm(void*, std::size_t);
REPLAYER_WEAK void _ZdlPvSt11align_val_t(void*, std::size_t);
REPLAYER_WEAK void _ZdaPvSt11align_val_t(void*, std::size_t);
REPLAYER_WEAK void _ZdlPvSt11align_val_tRKSt9nothrow_t(void*, std::size_t, const snug::replayer::NoThrow&);
REPLAYER_WEAK void _ZdaPvSt11align_val_tRKSt9nothrow_t(void*, std::size_t, const snug::replayer::NoThrow&);
REPLAYER_WEAK void _ZdlPvmSt11align_val_t(void*, std::size_t, std::size_t);
REPLAYER_WEAK void _ZdaPvmSt11align_val_t(void*, std::size_t, std::size_t);

REPLAYER_WEAK void free_sized(void*, std::size_t);
REPLAYER_WEAK void free_aligned_sized(void*, std::size_t, std::size_t);

}  // extern "C"
