// How many clients a process may have: each is an open file, and the OS grants so many (ulimit -n).
#pragma once

#include <cstddef>

namespace cache_server {

// Of `wanted` clients at a time those for which there are files. Raises the process's limit as far as it may; if that
// does not suffice, says so in one line to stderr.
std::size_t granted_clients(std::size_t wanted);

}  // namespace cache_server
