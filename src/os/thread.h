// What snug asks of the OS about threads.
#pragma once

#include <cstddef>
#include <cstdint>

namespace snug::os {

// Runs `body` in a detached thread of its own, which no signal interrupts. False if the OS refuses. Allocates, so that
// the caller must hold no lock; leaves errno alone.
bool start_thread(void (*body)());

// Names the calling thread for people and tools, in at most 15 bytes.
void name_thread(const char* name);

// True in the thread that main runs in, or that forked.
bool is_main_thread();

// The processor that the thread runs on at this moment; 0 if nobody knows. No system call where libc has registered
// restartable sequences (glibc 2.35 and later) or the kernel a vDSO.
size_t current_core();

// How many processors the machine may have: their numbers are below, as a rule. Reads files of the kernel's.
size_t core_count();

// Processor time that the calling thread has used, in nanoseconds. A system call. Leaves errno alone.
uint64_t processor_nanoseconds();

}  // namespace snug::os
