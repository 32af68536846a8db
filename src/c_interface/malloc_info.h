// malloc_info: the statistics as XML.
#pragma once

#include <stdio.h>

namespace snug {

// As glibc's: 0, or -1 with errno EINVAL if `options` is not 0.
int write_malloc_info(int options, FILE* stream);

}  // namespace snug
