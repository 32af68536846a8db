// What INFO and MEMORY USAGE tell, as lines of name:value.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "commands.h"
#include "store.h"

namespace cache_server {

// `section` in small letters: server, clients, memory, stats or keyspace; empty, all, everything or default for all.
// Nothing for one that there is not.
std::string information(std::string_view section, const Store& store, const ServerFacts& facts, Moment now);

// What a value takes in the heap, its key and handles included.
std::size_t bytes_of_value(std::string_view key, const Value& value);

}  // namespace cache_server
