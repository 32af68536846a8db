// Reads the size-class map from the file that SNUG_CONF names. Called while the heap starts: allocates nothing.
#pragma once

#include "base/text.h"
#include "size/class_list.h"

namespace snug {

// Why a map's file was refused: "line 7: the size is not above the one before", or that it cannot be read.
using ClassFileFault = Text<160>;

// True if `classes` is the file's map; otherwise it is as it was, and `fault` says why.
bool read_class_file(const char* path, ClassList* classes, ClassFileFault* fault);

}  // namespace snug
