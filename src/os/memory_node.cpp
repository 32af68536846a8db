#include "os/memory_node.h"

#include <errno.h>
#include <linux/mempolicy.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "base/bits.h"
#include "base/system_call.h"
#include "base/units.h"
#include "os/memory.h"

namespace snug::os {
namespace {

// As many nodes as Linux can have. The kernel takes a bit less than it is told of.
constexpr size_t kMostNodes = 1024;

struct NodeMask {
  unsigned long words[kMostNodes / (8 * sizeof(unsigned long))] = {};

  unsigned long& word(unsigned node) { return words[node / (8 * sizeof(unsigned long))]; }
  static unsigned long bit(unsigned node) { return 1ul << node % (8 * sizeof(unsigned long)); }
};

size_t whole_pages(size_t bytes) { return round_up(bytes, page_size()); }

}  // namespace

int why_no_node(unsigned node) {
  if (page_size() > kPageSize) return ENOSYS;
  NodeMask allowed;
  const long answer = system_call(SYS_get_mempolicy, 0, allowed.words, kMostNodes, 0, MPOL_F_MEMS_ALLOWED);
  if (answer < 0) return static_cast<int>(-answer);
  return node < kMostNodes && (allowed.word(node) & NodeMask::bit(node)) != 0 ? 0 : EINVAL;
}

bool bind_to_node(void* start, size_t bytes, unsigned node, bool may_be_backed) {
  NodeMask mask;
  mask.word(node) |= NodeMask::bit(node);
  const unsigned flags = may_be_backed ? MPOL_MF_MOVE | MPOL_MF_STRICT : 0;
  if (system_call(SYS_mbind, start, whole_pages(bytes), MPOL_BIND, mask.words, kMostNodes + 1, flags) == 0) return true;
  unbind_from_node(start, bytes);
  return false;
}

void unbind_from_node(void* start, size_t bytes) {
  system_call(SYS_mbind, start, whole_pages(bytes), MPOL_DEFAULT, 0, 0, 0);
}

}  // namespace snug::os
