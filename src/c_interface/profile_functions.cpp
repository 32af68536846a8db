// The C interface of the sampled heap profile (include/snug/profile.h).
#include "snug/profile.h"

#include "allocator/allocator.h"
#include "allocator/profile_output.h"
#include "base/compiler.h"
#include "c_interface/c_functions.h"
#include "os/output_stream.h"

using namespace snug;

extern "C" {

SNUG_EXPORT int snug_profile_start(size_t distance) { return answer(allocator.start_profile(distance)); }
SNUG_EXPORT void snug_profile_stop(void) { allocator.stop_profile(); }
SNUG_EXPORT size_t snug_profile_distance(void) { return allocator.profile.is_on() ? allocator.profile.mean() : 0; }
SNUG_EXPORT int snug_profile_write(int descriptor, int format) {
  os::OutputStream out(descriptor);
  return answer(write_profile(out, format));
}
SNUG_EXPORT void snug_set_sampler(const struct snug_sampler* sampler) { allocator.profile.set_sampler(sampler); }

}  // extern "C"
