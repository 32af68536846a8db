#include "allocator/environment.h"

#include <stddef.h>
#include <string.h>
#include <unistd.h>

namespace snug {
namespace {

char** told = nullptr;

}  // namespace

void tell_environment(char** variables) { told = variables; }

bool libc_has_environment() { return environ != nullptr; }

char** environment() { return libc_has_environment() ? environ : told; }

const char* environment_value(const char* name) {
  const size_t length = strlen(name);
  for (char** variable = environment(); variable != nullptr && *variable != nullptr; ++variable)
    if (strncmp(*variable, name, length) == 0 && (*variable)[length] == '=') return *variable + length + 1;
  return nullptr;
}

}  // namespace snug
