// Heaps with one fault each, to see that the runner complains about every kind it claims to find.
//
// Each is a thin layer over snug that goes wrong at the n-th opportunity. Single-threaded.
#pragma once

#include <ostream>
#include <vector>

#include "allocator_under_test.h"

namespace snug::model {

struct PlantedFault {
  const char* name;
  const char* expected;  // part of the complaint it must raise
  AllocatorUnderTest heap;

  friend std::ostream& operator<<(std::ostream& out, const PlantedFault& fault) { return out << fault.name; }
};

// The first is the heap without a fault: it must raise no complaint.
std::vector<PlantedFault> planted_faults();

}  // namespace snug::model
