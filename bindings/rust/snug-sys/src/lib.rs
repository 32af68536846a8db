//! The C interface of snug: what stands in `snug.h`, under its names. The crate `snug` has safe functions over it.
//!
//! The library is compiled with the crate. By default it defines these names alone; the feature `override` defines `malloc`,
//! `operator new` and `pthread_create` for the whole process besides.
#![no_std]
#![deny(missing_docs)]
#![allow(non_camel_case_types)]

use core::ffi::{c_char, c_int, c_void};

/// Statistics of one moment. Counts of other running threads are read without stopping them.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct snug_stats {
    /// Blocks handed out since the process (or its fork) began.
    pub allocations: u64,
    /// Usable bytes of live blocks.
    pub bytes_in_use: u64,
    /// Live blocks.
    pub blocks_in_use: u64,
    /// Free blocks in thread caches, or on their way home, in bytes.
    pub bytes_cached: u64,
    /// Spans held as slabs, free slots and caches included, in bytes.
    pub bytes_in_slabs: u64,
    /// Usable bytes of live large blocks.
    pub bytes_large: u64,
    /// Live large blocks.
    pub blocks_large: u64,
    /// Empty pages and mappings kept that may be backed by memory, in bytes.
    pub bytes_retained: u64,
    /// Address space held, metadata included, in bytes.
    pub bytes_reserved: u64,
    /// Snug's own records that have been touched, in bytes.
    pub bytes_metadata: u64,
    /// Total given back to the OS so far, in bytes.
    pub bytes_purged: u64,
    /// Bytes of pages that went back for their age, and were taken from the OS again within a second.
    pub bytes_missed: u64,
    /// Batches from slabs to thread caches.
    pub refills: u64,
    /// Batches from thread caches to slabs.
    pub flushes: u64,
    /// Batches of blocks sent home to heaps of other threads, the shared one included.
    pub batches_sent: u64,
    /// Threads that hold a heap now.
    pub threads: u64,
    /// Heaps left by dead threads, waiting for adoption.
    pub heaps_abandoned: u64,
    /// The most bytes of empty pages kept.
    pub retain: u64,
    /// The most bytes of freed large blocks kept.
    pub retain_large: u64,
}

/// Where each byte is that the kernel counts as in memory for snug's mappings: the parts add up to `rss`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct snug_memory {
    /// The sum of what follows, up to `other`.
    pub rss: u64,
    /// Live blocks: what was asked for, estimated.
    pub requested: u64,
    /// Live blocks: the rest.
    pub rounding: u64,
    /// Free blocks in thread caches, estimated.
    pub cached: u64,
    /// Blocks that threads have freed but that are not back in their slabs, estimated.
    pub on_their_way: u64,
    /// Free blocks of slabs that others keep in use, and what such slabs have yet to hand out.
    pub free_in_slabs: u64,
    /// Slabs without a block in use, that heaps keep for their next blocks.
    pub empty_slabs: u64,
    /// Empty pages, kept for a while.
    pub free_pages: u64,
    /// What is kept of freed large blocks and behind live ones.
    pub kept_large: u64,
    /// Snug's own records.
    pub records: u64,
    /// Compacting heaps; with `check:sample`, guarded pages.
    pub other: u64,
    /// Not in `rss`: of usable bytes of live blocks, what the program has yet to touch.
    pub untouched: u64,
    /// Not in `rss`: of all of the above, what lies in swap.
    pub swapped: u64,
}

/// Same meaning as glibc's `struct mallinfo2`, of this heap.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct snug_mallinfo {
    pub arena: usize,
    pub ordblks: usize,
    pub smblks: usize,
    pub hblks: usize,
    pub hblkhd: usize,
    pub usmblks: usize,
    pub fsmblks: usize,
    pub uordblks: usize,
    pub fordblks: usize,
    pub keepcost: usize,
}

/// One key of `SNUG_CONF`, as in force in this process. The strings live as long as the process.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct snug_config_entry {
    /// The key's name.
    pub key: *const c_char,
    /// What its value counts.
    pub unit: *const c_char,
    /// Its value where `SNUG_CONF` has none.
    pub default_value: *const c_char,
    /// Its value in this process.
    pub value: *const c_char,
    /// `"default"` or `"SNUG_CONF"`.
    pub origin: *const c_char,
    /// One sentence.
    pub help: *const c_char,
}

extern "C" {
    /// The version of the library that runs, as `"0.1.0"`.
    pub fn snug_version() -> *const c_char;

    /// As `malloc`.
    pub fn snug_malloc(size: usize) -> *mut c_void;
    /// As `calloc`.
    pub fn snug_calloc(count: usize, size: usize) -> *mut c_void;
    /// As `realloc`.
    pub fn snug_realloc(block: *mut c_void, size: usize) -> *mut c_void;
    /// As `reallocarray`.
    pub fn snug_reallocarray(block: *mut c_void, count: usize, size: usize) -> *mut c_void;
    /// As `free`.
    pub fn snug_free(block: *mut c_void);
    /// As C23's `free_sized`: of a block of `malloc`, `calloc` or `realloc`, with the size asked for.
    pub fn snug_free_sized(block: *mut c_void, size: usize);
    /// As C23's `free_aligned_sized`: of a block of `aligned_alloc`, with what was asked for.
    pub fn snug_free_aligned_sized(block: *mut c_void, alignment: usize, size: usize);
    /// As `aligned_alloc`; the alignment is a power of two, the size any.
    pub fn snug_aligned_alloc(alignment: usize, size: usize) -> *mut c_void;
    /// As `posix_memalign`.
    pub fn snug_posix_memalign(block: *mut *mut c_void, alignment: usize, size: usize) -> c_int;
    /// As `memalign`.
    pub fn snug_memalign(alignment: usize, size: usize) -> *mut c_void;
    /// As `valloc`.
    pub fn snug_valloc(size: usize) -> *mut c_void;
    /// As `pvalloc`.
    pub fn snug_pvalloc(size: usize) -> *mut c_void;
    /// As `malloc_usable_size`: constant during the life of the block, and all of it may be written.
    pub fn snug_malloc_usable_size(block: *mut c_void) -> usize;

    /// Allocates `count` blocks of `size` bytes and writes their addresses to `blocks`; returns how many there are.
    pub fn snug_malloc_batch(size: usize, blocks: *mut *mut c_void, count: usize) -> usize;
    /// Frees the `count` blocks, of any sizes, with the addresses in `blocks`; passes over nulls.
    pub fn snug_free_batch(blocks: *const *mut c_void, count: usize);

    /// 1 if moving the block by the next two functions would help its slab to become empty.
    pub fn snug_should_move(block: *const c_void) -> c_int;
    /// The same of `count` blocks, a byte of `answers` for each; how many are 1.
    pub fn snug_should_move_batch(blocks: *const *mut c_void, count: usize, answers: *mut u8) -> usize;
    /// As `snug_malloc`, without the thread's cache.
    pub fn snug_malloc_uncached(size: usize) -> *mut c_void;
    /// As `snug_free`, without the thread's cache.
    pub fn snug_free_uncached(block: *mut c_void);

    /// Gives what is free back to the OS, but for about `pad` bytes; 1 if anything was given back.
    pub fn snug_malloc_trim(pad: usize) -> c_int;
    /// Fills `stats`; returns 0.
    pub fn snug_get_stats(stats: *mut snug_stats) -> c_int;
    /// Fills `memory`; -1, and zeros, if the kernel does not say which pages are in memory. O(memory).
    pub fn snug_get_memory(memory: *mut snug_memory) -> c_int;
    /// As `mallinfo2`.
    pub fn snug_mallinfo2() -> snug_mallinfo;
    /// A readable summary on standard error.
    pub fn snug_malloc_stats();
    /// XML on `stream`, a `FILE*` of C; `options` must be 0.
    pub fn snug_malloc_info(options: c_int, stream: *mut c_void) -> c_int;
    /// Accepts any parameter and does nothing; returns 1.
    pub fn snug_mallopt(parameter: c_int, value: c_int) -> c_int;
    /// Null, or a static sentence that names the invariant that is broken. Not 0 for caches of all threads, while no other
    /// thread runs. O(heap).
    pub fn snug_check(all_heaps: c_int) -> *const c_char;
    /// Fills `entry` with the key of that number, from 0; -1 when there are no more. Not thread-safe.
    pub fn snug_config_get(index: usize, entry: *mut snug_config_entry) -> c_int;
    /// Changes settings of the running process, as `SNUG_CONF` has them. 0, or -1 with errno, and nothing has changed.
    pub fn snug_set(settings: *const c_char) -> c_int;
}
