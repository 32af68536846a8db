// Whether memory can be read, asked without touching it.
#pragma once

namespace snug::os {

// True if the aligned word there can be read, now. A system call, which no filter of a program refuses: it is one that
// libc makes for signals. Any thread may ask, in a signal handler too.
bool is_readable(const void* word);

}  // namespace snug::os
