// Where the tables lie by which exceptions leave the frames of a module's functions (.eh_frame_hdr), as glibc 2.35 and
// newer tell it. Not on AArch64, where compilers keep frame pointers, nor on musl.
#pragma once

#include <stdint.h>

namespace snug::os {

// False if nothing is known here of any code.
bool finds_frame_tables();

// The table of the module that the address lies in; 0 if it is in none, or in one without a table. Takes no lock, and
// may be asked within dlopen and in a signal handler.
uintptr_t find_frame_table(uintptr_t address);

}  // namespace snug::os
