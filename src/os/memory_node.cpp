#include "os/memory_node.h"

#include <errno.h>
#include <linux/mempolicy.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "base/bits.h"
#include "base/system_call.h"
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
  NodeMask allowed;
  const long answer = system_call(SYS_get_mempolicy, 0, allowed.words, kMostNodes, 0, MPOL_F_MEMS_ALLOWED);
  if (answer < 0) return static_cast<int>(-answer);
  return node < kMostNodes && (allowed.word(node) & NodeMask::bit(node)) != 0 ? 0 : EINVAL;
}

bool bind_to_node(void* start, size_t bytes, unsigned node) {
  NodeMask mask;
  mask.word(node) |= NodeMask::bit(node);
  return system_call(SYS_mbind, start, whole_pages(bytes), MPOL_BIND, mask.words, kMostNodes + 1, MPOL_MF_MOVE) == 0;
}

void unbind_from_node(void* start, size_t bytes) {
  system_call(SYS_mbind, start, whole_pages(bytes), MPOL_DEFAULT, 0, 0, 0);
}

}  // namespace snug::os
