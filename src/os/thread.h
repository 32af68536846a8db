// What snug asks of the OS about threads.
#pragma once

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

namespace snug::os {

// The type of pthread_create().
using CreateThread = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
// Sets the function that starts threads from now on, for where the library itself replaces libc's pthread_create().
void start_threads_by(CreateThread create);

// Runs `body` in a thread of its own, which no signal interrupts; some thread must join it. False if the OS refuses.
// Allocates, so that the caller must hold no lock; leaves errno alone.
// `stack`: its bytes, of which thread-local storage takes a part.
inline constexpr size_t kUsualStack = size_t{256} << 10;
bool start_thread(pthread_t* thread, void (*body)(), size_t stack = kUsualStack);

// True if the calling thread has no filter of system calls (seccomp); false also where the OS does not say. Reads a
// file; to be called while threads may still be started.
bool is_unfiltered();
// Gives the calling thread the ordinary scheduling policy, if it has a real-time one, and the processors that the
// process could run on at its start: a thread inherits both from the thread that has started it.
void leave_real_time();

// True if the calling thread has a real-time policy: first in, first out, or taking turns, or a deadline. A system
// call.
bool is_real_time();

// Returns when the thread has ended, for the OS as well, as far as pthread_join() can tell. No cancellation point.
void join_thread(pthread_t thread);

// Names the calling thread for people and tools, in at most 15 bytes.
void name_thread(const char* name);

// The number by which the OS knows the calling thread. A system call.
uint32_t thread_number();

// Finds the variable in which libc counts its threads, for debuggers (libthread_db). To be called once, before
// thread_count(); may allocate.
void find_thread_count();
// How many threads libc has begun that have not ended, main's included; 0 if that is unknown, as in programs that are
// linked statically. Threads made by clone() itself are not counted. No system call.
size_t thread_count();

// True in the thread that main runs in, or that forked.
bool is_main_thread();

// The processor that the thread runs on at this moment; 0 if that is unknown. No system call where libc has registered
// restartable sequences (glibc 2.35 and later) or the kernel provides a vDSO.
size_t current_core();

// Reads which processors the process may run on. To be called once at its start, before usable_core_count() and
// leave_real_time().
void learn_processors();
// How many processors the process might run on at its start, by its affinity; 0 if the OS does not say.
size_t usable_core_count();

// How many processors the machine may have: as a rule their numbers are smaller than that. Reads files of the kernel's.
size_t core_count();

}  // namespace snug::os
