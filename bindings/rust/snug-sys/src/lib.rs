//! The C interface of snug under its names: `snug.h`, `heap.h`, `limits.h`, `profile.h`, `realtime.h` and `compact_heap_c.h`, which
//! say more of each function. The crate `snug` has safe functions over the first four. The cell heap (`cell_heap_c.h`) is a
//! library of its own, and not in the crate.
//!
//! The library is compiled with the crate. By default it defines these names alone; the feature `override` defines `malloc`,
//! `operator new` and what snug forwards of libc's for the whole process besides.
#![no_std]
#![deny(missing_docs)]
#![allow(non_camel_case_types)]

use core::ffi::{c_char, c_int, c_uint, c_void};

/// A structure of which only the library knows what is in it: pointers to it do not go to other threads by themselves, as
/// what a thread may do with it is said by each function.
macro_rules! opaque {
    ($(#[$comment:meta])* $name:ident) => {
        $(#[$comment])*
        #[repr(C)]
        pub struct $name {
            _opaque: [u8; 0],
            _marker: core::marker::PhantomData<(*mut u8, core::marker::PhantomPinned)>,
        }
    };
}

mod compact_heap;
mod realtime;

pub use compact_heap::*;
pub use realtime::*;

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
    /// `"default"`, `"SNUG_CONF"`, or `"changed"` by `snug_set` or a tool.
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
    /// `count * size` bytes that are zero, aligned.
    pub fn snug_aligned_calloc(alignment: usize, count: usize, size: usize) -> *mut c_void;
    /// As `realloc`, of a block of which `old_size` bytes are used: those stay, and all from there to `new_size` are zero.
    pub fn snug_realloc_zeroed(block: *mut c_void, old_size: usize, new_size: usize)
        -> *mut c_void;
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

    /// As `malloc`; sets `usable` to the bytes that may be used of the block.
    pub fn snug_malloc_sized(size: usize, usable: *mut usize) -> *mut c_void;
    /// Makes a live block at least `size` bytes long where it stands; 1, or 0, and nothing has changed.
    pub fn snug_try_expand(block: *mut c_void, size: usize) -> c_int;
    /// 1 if the address lies on pages that blocks are cut from, or is the start of a larger live block.
    pub fn snug_is_in_heap(address: *const c_void) -> c_int;
    /// The calling thread is about to wait for long: the free blocks in its caches go to their heaps.
    pub fn snug_thread_idle();

    /// Allocates `count` blocks of `size` bytes and writes their addresses to `blocks`; returns how many there are.
    pub fn snug_malloc_batch(size: usize, blocks: *mut *mut c_void, count: usize) -> usize;
    /// Frees the `count` blocks, of any sizes, with the addresses in `blocks`; passes over nulls.
    pub fn snug_free_batch(blocks: *const *mut c_void, count: usize);

    /// 1 if moving the block by the next two functions would help its slab to become empty.
    pub fn snug_should_move(block: *const c_void) -> c_int;
    /// The same of `count` blocks, a byte of `answers` for each; how many are 1.
    pub fn snug_should_move_batch(
        blocks: *const *mut c_void,
        count: usize,
        answers: *mut u8,
    ) -> usize;
    /// As `snug_malloc`, without the thread's cache.
    pub fn snug_malloc_uncached(size: usize) -> *mut c_void;
    /// As `snug_free`, without the thread's cache.
    pub fn snug_free_uncached(block: *mut c_void);

    /// Gives what is free back to the OS, but for about `pad` bytes; 1 if anything was given back.
    pub fn snug_malloc_trim(pad: usize) -> c_int;
    /// Gives the OS about so many bytes at most of what is empty and kept, caches and slabs left alone; returns how many.
    pub fn snug_purge(bytes: usize) -> usize;
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

opaque! {
    /// A heap of the program's own (`snug/heap.h`).
    snug_heap
}

/// What a heap is created with: `size` is that of this structure; 0, or null, for what is not wished.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct snug_heap_options {
    /// Bytes of this structure.
    pub size: usize,
    /// Copied, and cut at `SNUG_HEAP_NAME_MAX`.
    pub name: *const c_char,
    /// The most memory that the heap may hold, in bytes.
    pub limit: usize,
    /// The memory beyond which what is empty goes back and callbacks are asked to free some, in bytes.
    pub soft_limit: usize,
    /// `SNUG_HEAP_MUST_BE_EMPTY`, `SNUG_HEAP_ON_NODE`, or 0.
    pub flags: c_uint,
    /// With `SNUG_HEAP_ON_NODE`: the node of a NUMA machine.
    pub node: c_uint,
    /// Memory of the caller's that all blocks of the heap lie in, or null.
    pub region: *mut c_void,
    /// Its length, in bytes.
    pub region_bytes: usize,
}

/// What the address and the length of a region are multiples of, in bytes.
pub const SNUG_HEAP_REGION_UNIT: usize = 16384;

/// The longest name of a heap, without the null behind it.
pub const SNUG_HEAP_NAME_MAX: usize = 31;
/// `snug_heap_destroy` destroys the heap only when none of its blocks is in use.
pub const SNUG_HEAP_MUST_BE_EMPTY: c_uint = 1;
/// All memory of the heap's blocks comes from the node of the options.
pub const SNUG_HEAP_ON_NODE: c_uint = 2;

/// Values of one moment of a heap.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct snug_heap_stats {
    /// Live blocks.
    pub blocks_in_use: u64,
    /// Usable bytes of these.
    pub bytes_in_use: u64,
    /// Bytes of pages that blocks lie on, and of large blocks: what the limit is about.
    pub bytes_held: u64,
    /// Bytes of free blocks in threads' caches.
    pub bytes_cached: u64,
    /// The most of `bytes_held` so far.
    pub peak_held: u64,
    /// In bytes; 0: none.
    pub limit: u64,
    /// In bytes; 0: none.
    pub soft_limit: u64,
}

extern "C" {
    /// A new heap; `options` may be null. Null with errno `EINVAL` or `ENOMEM`; for a region also `EEXIST`: a part of it is
    /// another heap's; for a node also `ENOSYS`: the kernel knows none, and `EPERM`: a filter keeps it from telling.
    pub fn snug_heap_create(options: *const snug_heap_options) -> *mut snug_heap;
    /// Ends the heap and all of its blocks. No other thread may use it, or free a block of it, meanwhile. 0, or `EBUSY` if
    /// blocks are in use and it must be empty.
    pub fn snug_heap_destroy(heap: *mut snug_heap) -> c_int;
    /// As `snug_malloc`, from the heap.
    pub fn snug_heap_malloc(heap: *mut snug_heap, size: usize) -> *mut c_void;
    /// As `snug_calloc`, from the heap.
    pub fn snug_heap_calloc(heap: *mut snug_heap, count: usize, size: usize) -> *mut c_void;
    /// As `snug_aligned_alloc`, from the heap.
    pub fn snug_heap_aligned_alloc(
        heap: *mut snug_heap,
        alignment: usize,
        size: usize,
    ) -> *mut c_void;
    /// As `snug_aligned_calloc`, from the heap.
    pub fn snug_heap_aligned_calloc(
        heap: *mut snug_heap,
        alignment: usize,
        count: usize,
        size: usize,
    ) -> *mut c_void;
    /// As `snug_realloc`; the block lies in the heap then, whichever it lay in before.
    pub fn snug_heap_realloc(heap: *mut snug_heap, block: *mut c_void, size: usize) -> *mut c_void;
    /// As `snug_malloc_batch`, from the heap.
    pub fn snug_heap_malloc_batch(
        heap: *mut snug_heap,
        size: usize,
        blocks: *mut *mut c_void,
        count: usize,
    ) -> usize;
    /// What the calling thread requests of malloc comes from the heap, null for malloc's own; returns the heap before.
    pub fn snug_heap_enter(heap: *mut snug_heap) -> *mut snug_heap;
    /// Ends what `snug_heap_enter` began, which has returned `before`.
    pub fn snug_heap_leave(before: *mut snug_heap);
    /// The heap that a live block lies in; null for malloc's.
    pub fn snug_heap_of(block: *const c_void) -> *mut snug_heap;
    /// The name, or `""`. Lives as long as the heap.
    pub fn snug_heap_name(heap: *const snug_heap) -> *const c_char;
    /// Fills `stats`; returns 0.
    pub fn snug_heap_get_stats(heap: *mut snug_heap, stats: *mut snug_heap_stats) -> c_int;
    /// Calls `visit` with each live block until it returns other than 0. Has the heap for itself.
    pub fn snug_heap_visit(
        heap: *mut snug_heap,
        visit: unsafe extern "C" fn(*mut c_void, *mut c_void, usize) -> c_int,
        argument: *mut c_void,
    ) -> c_int;
    /// Gives back pages of the heap without a block in use; 1 if there were any.
    pub fn snug_heap_trim(heap: *mut snug_heap) -> c_int;
}

/// A callback's level: more is held than the soft limit.
pub const SNUG_PRESSURE_SOFT: c_uint = 1;
/// Tasks of the container wait for memory.
pub const SNUG_PRESSURE_STALL: c_uint = 2;
/// A request is about to be refused.
pub const SNUG_PRESSURE_HARD: c_uint = 4;
/// All of these.
pub const SNUG_PRESSURE_ALL: c_uint = 7;

/// What a callback is told (`snug/limits.h`).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct snug_pressure {
    /// Of this structure in the library that runs, in bytes.
    pub size: u64,
    /// One of the levels.
    pub level: c_uint,
    /// Bytes held now.
    pub held: u64,
    /// The limit that was passed, in bytes; 0 where the OS refuses, or tasks wait.
    pub limit: u64,
    /// Bytes that are about to be refused; else 0.
    pub wanted: u64,
    /// The heap that the limit is of; null: the process's.
    pub heap: *mut snug_heap,
}

/// Frees what the program can do without; other than 0 if it has freed something. Must not unwind.
pub type snug_pressure_callback =
    unsafe extern "C" fn(pressure: *const snug_pressure, argument: *mut c_void) -> c_int;

/// What the heap of the process holds, and may hold.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct snug_limits {
    /// Of this structure, in bytes, set by the caller.
    pub size: u64,
    /// Bytes held, counted whether there are limits or not.
    pub held: u64,
    /// In force, in bytes; 0: none.
    pub limit: u64,
    /// In force, in bytes; 0: none.
    pub soft_limit: u64,
    /// How often callbacks were called, each counted.
    pub asked: u64,
    /// Requests that were refused after all that.
    pub refused: u64,
}

extern "C" {
    /// Has `callback(…, argument)` called at such levels; at none, and in no other thread any more, if `levels` is 0.
    pub fn snug_on_pressure(
        callback: Option<snug_pressure_callback>,
        argument: *mut c_void,
        levels: c_uint,
    ) -> c_int;
    /// Fills `limits`; 0, or `EINVAL` for a `size` that is too small.
    pub fn snug_get_limits(limits: *mut snug_limits) -> c_int;
}

/// The usual mean distance of samples, in bytes.
pub const SNUG_PROFILE_DISTANCE: usize = 512 << 10;
/// A profile's format: protocol buffers as pprof reads them, not compressed.
pub const SNUG_PROFILE_PPROF: c_int = 0;
/// A profile's format: lines `address;address;... bytes` of what is live.
pub const SNUG_PROFILE_COLLAPSED: c_int = 1;

/// What a sampler is told (`snug/profile.h`).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct snug_sample {
    /// The block, which its user does not have yet.
    pub block: *mut c_void,
    /// Bytes asked for; of a block up to 64 KiB rounded up to 16.
    pub size: usize,
    /// How many such blocks it stands for.
    pub weight: f64,
}

/// Functions that are called for each sample, in the middle of its malloc and of its free. Neither may unwind.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct snug_sampler {
    /// The functions' first argument.
    pub context: *mut c_void,
    /// A block has been sampled: returns a tag, 0 for none.
    pub sampled:
        Option<unsafe extern "C" fn(context: *mut c_void, sample: *const snug_sample) -> u64>,
    /// The block with the tag, which is not 0, is about to be freed.
    pub freed: Option<unsafe extern "C" fn(context: *mut c_void, tag: u64, block: *mut c_void)>,
}

extern "C" {
    /// Starts the sampled profile, or goes on with another mean distance, from 1 KiB to 1 GiB; 0, or -1 with `errno`.
    pub fn snug_profile_start(distance: usize) -> c_int;
    /// Takes no more samples. Those that there are leave the profile as their blocks are freed.
    pub fn snug_profile_stop();
    /// The mean distance, in bytes; 0 while the profile is off.
    pub fn snug_profile_distance() -> usize;
    /// Writes the profile to a descriptor; 0, or -1 with `errno`.
    pub fn snug_profile_write(descriptor: c_int, format: c_int) -> c_int;
    /// Sets the functions, null for none. The structure must stay for the life of the process.
    pub fn snug_set_sampler(sampler: *const snug_sampler);
}
