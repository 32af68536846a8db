// What each lock guards, and which lock a function's caller holds, written so that Clang proves it: -Wthread-safety, an
// error where Clang builds the allocator. Other compilers read none of it. Clang's page "Thread Safety Analysis" has
// the rules.
//
//   on a member     SNUG_GUARDED_BY(lock)   the member is read and written only under the lock
//   on a function   SNUG_REQUIRES(lock)     the caller holds the lock, before and after; in between the function
//                                           may drop it for a system call (UnlockedScope)
//                   SNUG_EXCLUDES(lock)     the caller does not hold it: the function takes it
//                   SNUG_ACQUIRE, SNUG_RELEASE, SNUG_TRY_ACQUIRE(result, lock)
//                                           the function takes it, drops it, takes it if it returns `result`
//   on an accessor  SNUG_RETURNS_LOCK(lock) what is returned is that lock
//   on a class      SNUG_LOCKABLE           a lock
//                   SNUG_SCOPED_LOCK        takes a lock, or drops one, for as long as an object of it lives
//
// Clang takes the word of a function that takes or drops the lock it belongs to (ACQUIRE without an argument), and does
// not look into constructors and destructors; a function without a mark says nothing. What else it cannot follow is
// marked SNUG_UNPROVED: locks that are not taken while there is one thread, a set of locks that is taken in a loop, the
// forking thread, which holds all, and what comes before any other use. A function that is called back under a lock
// says so by lock.assume_held(). A class that is a part of another one's state (a list, a budget, an index) says in
// words which lock its caller holds: there the member that it is has SNUG_GUARDED_BY.
//
// scripts/check_locks proves all of it without a build, and that breaches are seen.
#pragma once

#if defined(__clang__)
#define SNUG_LOCK_ATTRIBUTE(...) __attribute__((__VA_ARGS__))
#else
#define SNUG_LOCK_ATTRIBUTE(...)
#endif

#define SNUG_LOCKABLE SNUG_LOCK_ATTRIBUTE(capability("lock"))
#define SNUG_SCOPED_LOCK SNUG_LOCK_ATTRIBUTE(scoped_lockable)
#define SNUG_GUARDED_BY(lock) SNUG_LOCK_ATTRIBUTE(guarded_by(lock))
#define SNUG_POINTS_TO_GUARDED_BY(lock) SNUG_LOCK_ATTRIBUTE(pt_guarded_by(lock))
#define SNUG_REQUIRES(...) SNUG_LOCK_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define SNUG_EXCLUDES(...) SNUG_LOCK_ATTRIBUTE(locks_excluded(__VA_ARGS__))
#define SNUG_ACQUIRE(...) SNUG_LOCK_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define SNUG_RELEASE(...) SNUG_LOCK_ATTRIBUTE(release_capability(__VA_ARGS__))
#define SNUG_TRY_ACQUIRE(...) SNUG_LOCK_ATTRIBUTE(try_acquire_capability(__VA_ARGS__))
#define SNUG_RETURNS_LOCK(lock) SNUG_LOCK_ATTRIBUTE(lock_returned(lock))
#define SNUG_ASSUMES(...) SNUG_LOCK_ATTRIBUTE(assert_capability(__VA_ARGS__))
#define SNUG_UNPROVED SNUG_LOCK_ATTRIBUTE(no_thread_safety_analysis)
