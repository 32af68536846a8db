// What snug asks of the OS about threads.
#pragma once

#include <cstdint>

namespace snug::os {

// Runs `body` in a detached thread of its own, which no signal interrupts. False if the OS refuses. Allocates, so that
// the caller must hold no lock; leaves errno alone.
bool start_thread(void (*body)());

// Names the calling thread for people and tools, in at most 15 bytes.
void name_thread(const char* name);

// True in the thread that main runs in, or that forked.
bool is_main_thread();

// Processor time that the calling thread has used, in nanoseconds. A system call. Leaves errno alone.
uint64_t processor_nanoseconds();

}  // namespace snug::os
