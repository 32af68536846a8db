// What lies at an address of the process, for a tool that asks (allocator/control_answers.h): a block, its state, its
// slab and heap; free memory that is kept; snug's own records; or nothing of the heap's.
//
// Any number may be asked for: no byte at the address is read. Each part of the heap is asked under its lock, one after
// the other. A block that stays live meanwhile is told as live; one that other threads allocate or free at the moment
// is told as it was at some time in between.
//
// A tool asks the same of the memory of a process that has ended or is stopped, which it has at the same addresses
// (tools/inspect_command/image_answers.h): then the threads change nothing any more, and hold for ever what locks they
// held. What one of them was in the midst of is told as memory has it.
#pragma once

#include <stdint.h>

#include "os/output_stream.h"

namespace snug {

struct Allocator;

// The process that the allocator serves: the calling one; or one of which this is a copy, in a process with one thread
// that has called ForkingThread::outlive_others() and CacheRevocation::after_fork_in_child().
enum class Life : uint8_t { kRunning, kEnded };

// Writes one JSON object (snug.address/1) of the address, which is in hexadecimal digits after 0x. 0, or EINVAL for any
// other words. Thread-safe; the caller holds no lock. O(memory of the parts that have to be walked).
int describe_address(Allocator& allocator, Life life, const char* words, os::OutputStream& out);

}  // namespace snug
