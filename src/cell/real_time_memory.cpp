#include "cell/real_time_memory.h"

#include "base/bits.h"
#include "os/memory.h"
#include "os/memory_lock.h"

namespace snug {

RealTimeMemory map_real_time(size_t bytes) {
  RealTimeMemory memory;
  const size_t whole = round_up(bytes, os::page_size());
  if (bytes == 0 || whole < bytes) return memory;
  // The OS would map more than the machine has, and kill the process when it is backed.
  if (const size_t machine = os::total_memory(); machine != 0 && whole >= machine) return memory;
  memory.start = os::map(whole, os::page_size());
  if (memory.start == nullptr) return memory;
  memory.bytes = whole;
  memory.locked = os::lock(memory.start, whole);
  if (!memory.locked) os::touch(memory.start, whole);
  return memory;
}

void unmap_real_time(RealTimeMemory memory) {
  if (memory.start != nullptr) os::release(memory.start, memory.bytes);  // unlocks, too
}

}  // namespace snug
