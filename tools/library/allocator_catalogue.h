// The allocators that can be named on the command line, where each one's library is, and what it says it is.
#pragma once

#include <string>
#include <vector>

#include "process/child_process.h"

namespace snug::tool {

struct Allocator {
  std::string name;     // as the user named it
  std::string library;  // canonical path of what is preloaded; of glibc too (see find_allocator)
  std::string version;  // empty until identify() has asked
  HugePages huge_pages = HugePages::kAllowed;
  bool is_snug = false;  // by its library, not its name: that may be given to another
  // A heap that is no malloc: the program calls it directly, and the library serves nothing but libc.
  bool is_component = false;
};

// What a process that had the allocator preloaded reports of itself.
struct Identity {
  std::string malloc_library;  // canonical path of the file that its malloc lies in
  std::string version;
  bool counts_served = false;  // it knows the setting `served`: each process can say how many blocks it got
};

// `name` is one of known_allocators(), "snug" (served by `snug_library`) or the path of a library, each of them
// followed by "-nothp" if wanted: without transparent huge pages; with "NAME=" before it, it is called that. Throws
// UserError that names the command to get it.
// glibc is preloaded like the others: it changes nothing for most programs, and puts glibc's malloc first in those
// that link another one, as Debian's redis-server does.
Allocator find_allocator(const std::string& name, const std::string& snug_library);

// snug, and behind it those of the names, as find_allocator has them; "snug" among them is the first. Throws UserError
// if two have one name; `option` is what gave the names.
std::vector<Allocator> find_allocators(const std::vector<std::string>& names, const std::string& snug_library,
                                       const std::string& option);

// The names, without "snug" and "-nothp".
std::vector<std::string> known_allocators();

// Starts this tool once more with the allocator preloaded and lets it say where its malloc came from.
Identity identify(const Allocator& allocator, const HeldSignals& signals);

// Whether its library has settings as snug does, so that it may count what it serves. Nothing is started for it.
bool has_settings(const Allocator& allocator);

// What that other process does: prints its Identity as JSON. The exit status.
int print_identity();
inline constexpr const char* kPrintIdentityArgument = "--print-malloc-identity";

}  // namespace snug::tool
