// Module: a file of code that occurs on a stack, as the dynamic linker has mapped it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace snug::recorder {

struct Module {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  std::uintptr_t bias = 0;  // what was added to the addresses of its symbol table
  const char* path = "";    // empty: the program's own
  const unsigned char* build_id = nullptr;
  std::size_t build_id_bytes = 0;
};

// False if the address lies in no file: the program has made that code itself. Takes no lock. The module stays while
// its code runs.
bool find_module(const void* address, Module& module);

// The key of a module; two modules have the same one only if they are the same file at the same address.
std::uint64_t key_of(const Module& module);

}  // namespace snug::recorder
