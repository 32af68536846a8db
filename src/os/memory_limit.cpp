#include "os/memory_limit.h"

#include <string.h>

#include "base/algorithm.h"
#include "base/text.h"
#include "os/control_groups.h"
#include "os/input_file.h"
#include "os/lines.h"
#include "os/memory.h"

namespace snug::os {
namespace {

// Not /proc/self, which names no thread once the main thread has ended.
constexpr const char* kGroups = "/proc/thread-self/cgroup";
constexpr const char* kMount = "/sys/fs/cgroup";

// What the kernel can have back from a group only by swapping, and its own memory for it: that in one sum, of which a
// part can be had back, since Linux 5.18.
size_t held_by(const MemoryGroup& group, bool* is_known) {
  enum { kAnon, kShmem, kSock, kKernel, kReclaimable, kSlab, kStack, kTables, kPercpu, kInTwo };
  constexpr const char* kWords[kInTwo] = {
      "anon",         "shmem",      "sock",  "kernel", "slab_reclaimable", "slab_unreclaimable",
      "kernel_stack", "pagetables", "percpu"};
  constexpr const char* kInOne[] = {"total_rss", "total_shmem"};
  size_t values[kInTwo];
  if (group.version == GroupVersion::kOne) {
    read_statistics(group, kInOne, values, 2, is_known);
    return values[0] + values[1];
  }
  read_statistics(group, kWords, values, kInTwo, is_known);
  const size_t kernel = values[kKernel] != 0 ? values[kKernel] - min(values[kKernel], values[kReclaimable])
                                             : values[kSlab] + values[kStack] + values[kTables] + values[kPercpu];
  return values[kAnon] + values[kShmem] + values[kSock] + kernel;
}

const char* name_of_limit(GroupVersion version) {
  return version == GroupVersion::kTwo ? "memory.max" : "memory.limit_in_bytes";
}

void lower_limit(void* least, const MemoryGroup& group) {
  size_t& limit = *static_cast<size_t*>(least);
  limit = min(limit, number_of_group(group, name_of_limit(group.version)));
}

void lower_room(void* least, const MemoryGroup& group) {
  GroupRoom& room = *static_cast<GroupRoom*>(least);
  const bool is_two = group.version == GroupVersion::kTwo;
  const size_t most = number_of_group(group, name_of_limit(group.version), &room.is_known);
  const size_t high = is_two ? number_of_group(group, "memory.high", &room.is_known) : SIZE_MAX;
  if (most == SIZE_MAX && high == SIZE_MAX) return;
  const size_t held = held_by(group, &room.is_known);
  const auto left = [held](size_t limit) { return limit == SIZE_MAX ? limit : limit - min(limit, held); };
  room.most = min(room.most, left(most));
  room.high = min(room.high, left(high));
}

// The digits behind "some avg10=" as hundredths, where two follow the point; UINT32_MAX if the file does not say.
uint32_t stall_in(const char* path) {
  constexpr char kBefore[] = "some avg10=";
  uint32_t hundredths = UINT32_MAX;
  for_each_line(path, [&](const char* line, const char* end) {
    const size_t before = sizeof kBefore - 1;
    if (static_cast<size_t>(end - line) <= before || memcmp(line, kBefore, before) != 0) return;
    hundredths = 0;
    for (const char* at = line + before; at != end && *at != ' ' && hundredths < 100'000; ++at)
      if (*at >= '0' && *at <= '9') hundredths = hundredths * 10 + static_cast<uint32_t>(*at - '0');
  });
  return hundredths;
}

// The innermost group's that says it.
void find_stall(void* found, const MemoryGroup& group) {
  uint32_t& stall = *static_cast<uint32_t*>(found);
  if (stall != UINT32_MAX || group.version == GroupVersion::kOne) return;
  Text<1024> path;
  path.add(group.folder).add("/memory.pressure");
  stall = stall_in(path.data());
}

}  // namespace

size_t group_limit(const char* groups, const char* mount) {
  size_t least = SIZE_MAX;
  for_each_memory_group(groups, mount, lower_limit, &least);
  return least;
}

size_t memory_limit() { return group_limit(kGroups, kMount); }

GroupRoom group_room(const char* groups, const char* mount) {
  GroupRoom least;
  for_each_memory_group(groups, mount, lower_room, &least);
  return least;
}

GroupRoom group_room() { return group_room(kGroups, kMount); }

size_t anonymous_memory() {
  char text[128];
  InputFile file("/proc/thread-self/statm");
  const size_t length = file.read(text, sizeof text);
  if (length == 0) return SIZE_MAX;
  size_t pages[3] = {};  // of addresses, in memory, of files
  size_t field = 0;
  for (size_t i = 0; i != length && field != 3; ++i) {
    if (text[i] < '0' || text[i] > '9')
      ++field;
    else
      pages[field] = pages[field] * 10 + static_cast<size_t>(text[i] - '0');
  }
  return (pages[1] - min(pages[1], pages[2])) * page_size();
}

uint32_t memory_stall(const char* groups, const char* mount, const char* of_machine) {
  uint32_t stall = UINT32_MAX;
  for_each_memory_group(groups, mount, find_stall, &stall);
  if (stall == UINT32_MAX) stall = stall_in(of_machine);
  return stall == UINT32_MAX ? 0 : stall;
}

uint32_t memory_stall() { return memory_stall(kGroups, kMount, "/proc/pressure/memory"); }

}  // namespace snug::os
