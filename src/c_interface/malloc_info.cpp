#include "c_interface/malloc_info.h"

#include <errno.h>
#include <inttypes.h>

#include "allocator/statistics.h"
#include "c_interface/c_functions.h"
#include "os/uncancelled.h"

namespace snug {

int write_malloc_info(int options, FILE* stream) {
  if (options != 0) return answer(EINVAL);
  const os::Uncancelled uncancelled;  // writing to a stream is a point of cancellation
  const snug_stats stats = gather_statistics();
  fprintf(stream, "<malloc version=\"snug-%s\">\n", snug_version());
  fprintf(stream, "<total type=\"inuse\" count=\"%" PRIu64 "\" size=\"%" PRIu64 "\"/>\n", stats.blocks_in_use,
          stats.bytes_in_use);
  fprintf(stream, "<total type=\"large\" count=\"%" PRIu64 "\" size=\"%" PRIu64 "\"/>\n", stats.blocks_large,
          stats.bytes_large);
  fprintf(stream, "<total type=\"cached\" size=\"%" PRIu64 "\"/>\n", stats.bytes_cached);
  fprintf(stream, "<total type=\"retained\" size=\"%" PRIu64 "\"/>\n", stats.bytes_retained);
  fprintf(stream, "<system type=\"slabs\" size=\"%" PRIu64 "\"/>\n", stats.bytes_in_slabs);
  fprintf(stream, "<system type=\"reserved\" size=\"%" PRIu64 "\"/>\n", stats.bytes_reserved);
  fprintf(stream, "<system type=\"metadata\" size=\"%" PRIu64 "\"/>\n</malloc>\n", stats.bytes_metadata);
  return 0;
}

}  // namespace snug
