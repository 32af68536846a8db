// malloc_info: the statistics as XML.
#pragma once

#include <stdio.h>

namespace snug {

// As glibc's: 0, or -1 with errno EINVAL if `options` is not 0. Writes the figures that the .cpp names, not all of
// allocator/figures.h. The caller holds no lock, and none is held while the stream is written, without cancellation;
// what the stream refuses is not told.
int write_malloc_info(int options, FILE* stream);

}  // namespace snug
