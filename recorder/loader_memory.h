// LoaderMemory: anonymous memory that the dynamic linker has mapped for itself, some KiB for each library that the
// program is linked to. It does so before there is an allocator, and later uses that one. From outside the memory looks
// like the allocator's.
//
//   a mapping is the dynamic linker's  <=>  it is of no file, and what is known of a library (link_map) lies in it, or
//                                           the first thread's variables do
#pragma once

namespace snug::recorder {

// Finds it. To be called before the allocator is called for the first time.
void find_loader_memory();
// Records what find_loader_memory() has found.
void tell_loader_memory();

}  // namespace snug::recorder
