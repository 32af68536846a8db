#include "c_interface/process.h"

#include "allocator/allocator.h"
#include "allocator/blocks.h"
#include "allocator/checked_blocks.h"
#include "allocator/profile_output.h"
#include "allocator/report.h"
#include "base/compiler.h"

namespace snug {
namespace {

// Runs before every other library's constructors (-z initfirst), libc's own too: libc has no environment yet.
SNUG_AT_LOAD SNUG_USED void prepare() {
  allocator.watch_forks();
  allocator.background.permit();
}

SNUG_AT_EXIT SNUG_USED void conclude() {
  if (!allocator.ensure_open_at_exit()) return;
  // ThreadSanitizer tells of a thread that has ended and that none has joined: the background thread, if it has left.
  if (kUnderThreadSanitizer) allocator.background.be_alone();
  report_statistics();
  conclude_profile_out();
  look_for_misuse_at_exit();
  if (allocator.is_checked()) end_quarantine();
}

}  // namespace

extern const char kProcessHooks = 0;

}  // namespace snug
