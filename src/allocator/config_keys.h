// Sets of the keys of SNUG_CONF: a bit for each, in the order of kConfigTable.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace snug {

// The keys that are asked for by name; config_table.cpp proves the numbers.
enum ConfigKeyIndex : size_t { kCache = 2, kRetain = 6, kRetainLarge = 7, kLimit = 8, kSoftLimit = 9, kCheck = 13 };

// True if the set of keys has the key.
inline bool has_key(uint32_t keys, size_t key) { return (keys >> key & 1) != 0; }

}  // namespace snug
