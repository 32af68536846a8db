// RealTimeRegion: memory for a cell heap that causes no page faults: every OS page of it is backed from the start, and
// locked, if the process may lock so much (ulimit -l, CAP_IPC_LOCK). It is unmapped with the object. Link with
// libsnug_cell_rt.a.
//
//   snug::RealTimeRegion region(16 << 20);
//   if (!region.is_locked()) …                       // backed, but the kernel may take pages away
//   heap.add_region(region.start(), region.bytes());  // null start: there was no memory, and add_region says so
#pragma once

#include "snug/cell_heap_c.h"

namespace snug {

class RealTimeRegion {
 public:
  explicit RealTimeRegion(size_t bytes) { snug_cell_region_map(&region_, bytes); }
  ~RealTimeRegion() { snug_cell_region_unmap(&region_); }
  RealTimeRegion(const RealTimeRegion&) = delete;
  RealTimeRegion& operator=(const RealTimeRegion&) = delete;

  void* start() const { return region_.start; }
  size_t bytes() const { return region_.bytes; }  // asked for, rounded up to OS pages
  bool is_locked() const { return region_.locked != 0; }

 private:
  snug_cell_region region_ = {};
};

}  // namespace snug
