// What the program has by a name, which need not be what this library has.
#pragma once

#include "base/compiler.h"

namespace snug {

// The first definition of the symbol in the program's search order, null if there is none. Only libsnug.so has this
// function, and it is null elsewhere: what is linked into a program has the program's definitions by its own
// references. May be called as the library is loaded, and takes the loader's lock.
SNUG_WEAK_OWN void* find_in_program(const char* symbol);

}  // namespace snug
