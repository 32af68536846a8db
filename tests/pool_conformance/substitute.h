// substitute.h: included before each of libstdc++'s tests: where they name a resource of std::pmr they get snug's. Also
// the precompiled header of them all, so it includes what they include.
#pragma once

#include <memory_resource>

#include <snug/resource.h>
#include <testsuite_allocator.h>
#include <testsuite_hooks.h>

namespace std::pmr {
using snug::MonotonicResource;
using snug::PoolResource;
using snug::SynchronizedPoolResource;
}  // namespace std::pmr

#define unsynchronized_pool_resource PoolResource
#define synchronized_pool_resource SynchronizedPoolResource
#define monotonic_buffer_resource MonotonicResource
