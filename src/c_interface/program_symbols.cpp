#include "c_interface/program_symbols.h"

#include <dlfcn.h>

namespace snug {

// Not RTLD_DEFAULT, which finds the library itself first (-Bsymbolic).
void* find_in_program(const char* symbol) {
  void* const program = ::dlopen(nullptr, RTLD_LAZY);
  return program == nullptr ? nullptr : ::dlsym(program, symbol);
}

}  // namespace snug
