// What snug asks of the OS about threads.
#pragma once

#include <pthread.h>

#include <cstddef>
#include <cstdint>

namespace snug::os {

// As pthread_create().
using CreateThread = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
// By which threads are started from now on, where the library stands before libc's function itself.
void start_threads_by(CreateThread create);

// Runs `body` in a thread of its own, which no signal interrupts, and which somebody joins. False if the OS refuses.
// Allocates, so that the caller must hold no lock; leaves errno alone.
bool start_thread(pthread_t* thread, void (*body)());

// True if no filter of system calls (seccomp) watches the calling thread; false also where the OS does not say. Reads a
// file, and is for a moment at which threads are allowed.
bool is_unfiltered();
// Schedules the calling thread by the policy for ordinary threads, if it has a real-time one, and on the processors of
// the process's start: a thread has both from the one that has started it.
void leave_real_time();

// Returns when the thread has ended, for the OS as well, as nearly as pthread_join() says. Nobody is cancelled in it.
void join_thread(pthread_t thread);

// Names the calling thread for people and tools, in at most 15 bytes.
void name_thread(const char* name);

// The number by which the OS knows the calling thread. A system call.
uint32_t thread_number();

// Looks where libc counts its threads, for debuggers (libthread_db). Once, before the first question; may allocate.
void find_thread_count();
// How many threads libc has begun and not yet seen end, main's with them; 0 if it does not tell, as in programs that
// are linked statically. Threads by bare clone() are not counted. No system call.
size_t thread_count();

// True in the thread that main runs in, or that forked.
bool is_main_thread();

// The processor that the thread runs on at this moment; 0 if nobody knows. No system call where libc has registered
// restartable sequences (glibc 2.35 and later) or the kernel a vDSO.
size_t current_core();

// Asks on which processors the process runs at its start. Once, before the next question and leave_real_time().
void learn_processors();
// How many processors the process might run on at its start, by its affinity; 0 if the OS does not say.
size_t usable_core_count();

// How many processors the machine may have: their numbers are below, as a rule. Reads files of the kernel's.
size_t core_count();

}  // namespace snug::os
