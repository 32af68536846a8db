// Construction where the memory is already there: new (InPlace{memory}) T(...).
#pragma once

#include <stddef.h>

#include "base/compiler.h"

namespace snug {

struct InPlace {
  void* memory;
};

}  // namespace snug

// A type of our own, since the standard's form is declared by a header of C++. Not noexcept: of a form that may throw
// the compiler knows that it returns no null pointer.
SNUG_ALWAYS_INLINE void* operator new(size_t, snug::InPlace place) { return place.memory; }
// Of an array the compiler may want more room than its elements take, for their number.
void* operator new[](size_t, snug::InPlace) = delete;
