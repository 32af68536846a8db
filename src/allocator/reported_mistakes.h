// Which mistakes in SNUG_CONF have been reported already: a process that complains appends a pair "!" to the variable
// that its children, and the programs it executes, will find, and none of them complains again of what stands before
// the "!".
//
//   purge_aftr:0            no process has complained
//   purge_aftr:0,!          one has
//   purge_aftr:0,!,cach:1M  of the first; a script has added the second
#pragma once

#include <stddef.h>

namespace snug {

// How many of the text's first bytes lie before the last mark, so that their mistakes have been reported.
size_t told_length(const char* text);

// Appends the mark to `text`, the value of the environment's SNUG_CONF. The string itself is not changed, as it may lie
// in read-only memory; the environment gets another one. Does nothing if that one is too long, and then each process
// complains. Allocates nothing. Only the thread that reads the configuration may call it.
void mark_as_told(const char* text);

}  // namespace snug
