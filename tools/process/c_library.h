// CLibrary: the C library that this process runs with. Its malloc is the one that others are compared with.
#pragma once

#include <string>

namespace snug::tool {

struct CLibrary {
  std::string name;      // "glibc" or "musl"
  std::string version;   // empty where it does not tell: musl
  const void* function;  // an address in its code

  static CLibrary current();

  std::string text() const { return version.empty() ? name : name + ' ' + version; }
};

}  // namespace snug::tool
