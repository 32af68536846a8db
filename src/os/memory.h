// What snug asks of the OS about memory. Every address and size is a multiple of the OS page; every function is
// thread-safe, allocates nothing and leaves errno as it was, so that free() may call any of them.
//
//   reserve   address range only, no access          commit   make it readable and writable, backed on touch
//   map       reserve and commit in one step         purge    give the memory back, keep the addresses (reads as zero)
//   release   give memory and addresses back         grow     lengthen a mapping, moving its pages if need be
//   move      to a reserved place                    lengthen where it is
//
// A new system call is made by system_call() (base/system_call.h), not by libc; what else follows: docs/questions.md,
// "Where a change goes".
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace snug::os {

// The hardware's page in bytes (4096 on x86-64).
size_t page_size();
// Sets the page size that the kernel told the program at its start (os/process.h).
void set_page_size(size_t bytes);

// `hint` is the wanted address (null: any); the result may lie elsewhere. Null when refused.
void* reserve(void* hint, size_t bytes);
bool commit(void* start, size_t bytes);

// Zeroed memory aligned to `alignment` (a power of two). Null when refused.
void* map(size_t bytes, size_t alignment);
// Maps memory at the place, as of reserve() and commit(), with which it makes one mapping where it lies beside such.
// False if something is mapped there, or the OS refuses.
bool map_at(void* place, size_t bytes);

// The first bytes of a file, which other processes see change. Null when refused.
void* map_shared(long file, size_t bytes);

// A mapping of zeros that costs nothing until commit() makes a part of it writable. Null when refused.
void* map_read_only(size_t bytes);
// An OS page of zeros, which is zero again in each child that gets a copy of the process's memory, by fork() or by a
// bare clone. Null if the OS refuses (Linux before 4.14).
void* map_wiped_in_children();

// False if nothing was given back (locked memory, say); the contents are then unchanged. The memory must be writable:
// the first purges of the process check that purged memory really reads as zero. Calls madvise(MADV_DONTNEED) alone.
bool purge(void* start, size_t bytes);

// True if addresses that go back would come again: a page goes back, and comes again. False if a filter refuses such
// calls, or if the process has more than a limit that was set later lets it have. The first call takes the page.
bool answers_for_addresses();

// False if the kernel could not split the mapping; the range is then still mapped.
bool release(void* start, size_t bytes);
// Changes with each call by which snug unmaps something, moves it, or makes it unreadable. What the program unmaps
// itself is not seen.
uint64_t unmappings();

// Makes a mapping longer, at the same place or another, contents kept. Null if it stays as it was.
void* grow(void* start, size_t bytes, size_t more_bytes);
// The same, at its place; false if it stays as it was, for example because another mapping lies behind it.
bool lengthen(void* start, size_t bytes, size_t more_bytes);
// Moves a mapping to `place`, where the caller has reserved as much. False if it stays as it was; it is then not known
// whether `place` is still reserved.
bool move(void* start, size_t bytes, void* place);

// Makes the range inaccessible, and gives its memory back. commit() makes it usable again.
void withdraw(void* start, size_t bytes);

// Asks for huge pages, or for none, whatever the system's default. Advice: nothing depends on it. False if the OS knows
// no huge pages.
bool prefer_huge_pages(void* start, size_t bytes);
void prefer_small_pages(void* start, size_t bytes);

// Backs the range with memory now, as a write to each of its OS pages would, but leaves what it holds. False if the OS
// cannot (before Linux 5.14), or will not.
bool back(void* start, size_t bytes);

// The machine's memory in bytes, used or not, without and with swap; 0 and SIZE_MAX if the OS does not say.
size_t total_memory();
size_t total_memory_and_swap();

}  // namespace snug::os
