// LoaderMemory: what the dynamic linker has mapped for itself, of no file: some KiB for each library that the program
// is linked to. It does so before there is an allocator, and later asks that one. From outside it looks like the
// allocator's.
//
//   a mapping is the dynamic linker's  <=>  it is of no file, and what is known of a library (link_map) lies in it, or
//                                           the first thread's variables do
#pragma once

namespace snug::recorder {

// Before the allocator is called for the first time.
void find_loader_memory();
// Of what was found then.
void tell_loader_memory();

}  // namespace snug::recorder
