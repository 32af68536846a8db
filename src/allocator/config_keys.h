// The keys of SNUG_CONF, in the order of kConfigTable. What a new one needs: docs/questions.md, "Where a change goes".
#pragma once

#include <stddef.h>

namespace snug {

enum ConfigKeyIndex : size_t {
  kClasses,
  kSizedDelete,
  kCache,
  kHeaps,
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

}  // namespace snug
