// The keys of SNUG_CONF, in the order of kConfigTable. What a new one needs: docs/questions.md, "Where a change goes".
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace snug {

enum ConfigKeyIndex : size_t {
  kClasses,
  kSizedDelete,
  kCache,
  kHeaps,
  kStores,
  kBatch,
  kRetain,
  kRetainLarge,
  kLimit,
  kSoftLimit,
  kPressure,
  kPurgeAfter,
  kIdleThread,
  kCheck,
  kQuarantine,
  kProfile,
  kProfileOut,
  kProfileAt,
  kProfileSignal,
  kProfileRt,
  kPublish,
  kReport,
  kServed
};

// True if the set of keys, a bit for each, has the key.
inline bool has_key(uint32_t keys, size_t key) { return (keys >> key & 1) != 0; }

}  // namespace snug
