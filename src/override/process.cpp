#include "override/process.h"

#include "base/compiler.h"
#include "heap/allocator.h"
#include "heap/statistics.h"
#include "heap/store.h"

namespace snug {
namespace {

SNUG_AT_LOAD SNUG_USED void prepare() {
  store.open();
  store.idle.permit();
}

SNUG_AT_EXIT SNUG_USED void conclude() {
  report_statistics();
  settle_at_exit();
}

}  // namespace

extern const char kProcessHooks = 0;

}  // namespace snug
