#include "override/process.h"

#include "base/compiler.h"
#include "heap/allocator.h"
#include "heap/checked_blocks.h"
#include "heap/statistics.h"
#include "heap/store.h"

namespace snug {
namespace {

// Runs before every other library's constructors (-z initfirst), libc's own too: libc has no environment yet.
SNUG_AT_LOAD SNUG_USED void prepare() {
  store.watch_forks();
  store.idle.permit();
}

SNUG_AT_EXIT SNUG_USED void conclude() {
  if (!store.ensure_open_at_exit()) return;
  report_statistics();
  look_for_misuse_at_exit();
  if (store.is_checked()) end_quarantine();
}

}  // namespace

extern const char kProcessHooks = 0;

}  // namespace snug
