//! `snug/compact_heap_c.h`: a heap of blocks that move, which are named by handles.

use core::ffi::{c_char, c_int, c_uint, c_void};

opaque! {
    /// A compacting heap.
    snug_compact_heap
}

/// Names a block for as long as it lives, and never names another block of the heap. 0 names none.
pub type snug_handle = u64;

/// The value of `not_full` for a heap that never moves anything by itself.
pub const SNUG_COMPACT_NEVER: usize = usize::MAX;

/// Block sizes: sixteen classes a doubling.
pub const SNUG_COMPACT_FINE: c_uint = 0;
/// Block sizes: compact-fit's own, from 16 bytes on.
pub const SNUG_COMPACT_CF16: c_uint = 1;
/// Block sizes: compact-fit's own, from 32 bytes on.
pub const SNUG_COMPACT_CF32: c_uint = 2;

/// The heap is for one thread at a time.
pub const SNUG_COMPACT_ONE_THREAD: c_uint = 0;
/// The heap is for any threads: one lock.
pub const SNUG_COMPACT_ONE_LOCK: c_uint = 1;
/// The heap is for any threads: a lock for each class of sizes.
pub const SNUG_COMPACT_CLASS_LOCKS: c_uint = 2;
/// The heap is for any threads: a heap for each core, and one table of handles. Not in a region.
pub const SNUG_COMPACT_CORES: c_uint = 3;

/// What a compacting heap is created with; 0, or null, for what is not wished.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct snug_compact_options {
    /// Pages of a class that may have a free block; 0: 1.
    pub not_full: usize,
    /// Bytes that a move copies before it looks at the budget; 0: 4096.
    pub increment: usize,
    /// `SNUG_COMPACT_FINE`, `SNUG_COMPACT_CF16` or `SNUG_COMPACT_CF32`.
    pub map: c_uint,
    /// 1: no handles, and nothing ever moves.
    pub direct: c_int,
    /// Memory of the caller's that everything lies in, or null.
    pub region: *mut c_void,
    /// Its length, in bytes.
    pub region_bytes: usize,
    /// The most blocks at a time, as far as handles go; 0: as many as there can be.
    pub handles: usize,
    /// `SNUG_COMPACT_ONE_THREAD`, `SNUG_COMPACT_ONE_LOCK`, `SNUG_COMPACT_CLASS_LOCKS` or `SNUG_COMPACT_CORES`.
    pub sharing: c_uint,
}

/// How long a slice of compaction may take; 0: no limit.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct snug_compact_budget {
    /// Nanoseconds.
    pub nanoseconds: u64,
    /// Bytes to copy.
    pub bytes: u64,
}

/// Values of one moment of a compacting heap.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct snug_compact_stats {
    /// Live blocks.
    pub blocks: usize,
    /// Bytes of them and of places that moves fill, as large as their classes make them.
    pub bytes_blocks: usize,
    /// Bytes of free blocks in pages that are not full.
    pub bytes_not_full: usize,
    /// The bound on `bytes_not_full`.
    pub bytes_bound: usize,
    /// Bytes at the ends of pages, too short for a block.
    pub bytes_tails: usize,
    /// Of `bytes_blocks`, those in blocks that have pages of their own.
    pub bytes_large: usize,
    /// Bytes of empty pages, kept for later use.
    pub bytes_spare: usize,
    /// Bytes of the table of handles.
    pub bytes_handles: usize,
    /// Bytes of the records of pages and of the heap itself.
    pub bytes_records: usize,
    /// Pages of 16 KiB, spare ones apart.
    pub pages: usize,
    /// Rows of pages that are not full.
    pub rows_not_full: usize,
    /// Of them, those that hold a pinned block.
    pub rows_pinned: usize,
    /// Pins.
    pub pins: usize,
    /// Moves begun by a step that has used up its budget.
    pub moves_in_flight: usize,
    /// Moves so far.
    pub moves: u64,
    /// Their bytes.
    pub bytes_moved: u64,
    /// Moves that were given up, as something changed.
    pub moves_aborted: u64,
    /// How often a thread had to wait for the lock of the heap, or of a core's.
    pub waits_heap: u64,
    /// The same for locks of classes.
    pub waits_classes: u64,
    /// The same for that of the table of handles.
    pub waits_handles: u64,
    /// The same for that for pages.
    pub waits_pages: u64,
}

/// The table of handles, for code that dereferences without a call.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct snug_compact_view {
    /// A slot for each handle: the slot xor the handle is the block's address.
    pub slots: *const u64,
    /// How many slots there are.
    pub slot_limit: usize,
    /// What a reader enters a section with.
    pub epoch: *const u64,
}

/// A thread's, for sections in which blocks stay where they are.
#[repr(C)]
#[derive(Debug)]
pub struct snug_compact_reader {
    /// The epoch in which it entered; 0: it is outside. Other threads read it, so that it is only to be used by atomics.
    pub epoch: u64,
}

extern "C" {
    /// A new heap; `options` may be null. Null with errno `ENOMEM` or `EINVAL`.
    pub fn snug_compact_create(options: *const snug_compact_options) -> *mut snug_compact_heap;
    /// Frees every block. The heap must hold no pin.
    pub fn snug_compact_destroy(heap: *mut snug_compact_heap);

    /// A block, at a multiple of `alignment` wherever it moves; 0: there is no memory, or no slot for a handle.
    pub fn snug_compact_alloc(
        heap: *mut snug_compact_heap,
        bytes: usize,
        alignment: usize,
    ) -> snug_handle;
    /// The same of contents that `relocate` moves from one block to another. It must not use the heap, nor unwind.
    pub fn snug_compact_alloc_relocated(
        heap: *mut snug_compact_heap,
        bytes: usize,
        alignment: usize,
        relocate: unsafe extern "C" fn(from: *mut c_void, to: *mut c_void),
    ) -> snug_handle;
    /// Frees the block, and may move others. 0 is ignored.
    pub fn snug_compact_free(heap: *mut snug_compact_heap, handle: snug_handle);
    /// Gives the block another size under the same handle; 0, or -1 and it is as it was.
    pub fn snug_compact_resize(
        heap: *mut snug_compact_heap,
        handle: snug_handle,
        bytes: usize,
        alignment: usize,
    ) -> c_int;
    /// Where the block lies now.
    pub fn snug_compact_deref(heap: *mut snug_compact_heap, handle: snug_handle) -> *mut c_void;
    /// The same, but null for a handle that names no live block.
    pub fn snug_compact_try_deref(heap: *mut snug_compact_heap, handle: snug_handle)
        -> *mut c_void;
    /// All of it may be written.
    pub fn snug_compact_usable_size(heap: *mut snug_compact_heap, handle: snug_handle) -> usize;

    /// Keeps the block where it is, and returns its address; null if it has 15 pins already.
    pub fn snug_compact_pin(heap: *mut snug_compact_heap, handle: snug_handle) -> *mut c_void;
    /// Takes a pin away, and makes the moves that it has held up.
    pub fn snug_compact_unpin(heap: *mut snug_compact_heap, handle: snug_handle);

    /// Sets the bound of every class, from now on.
    pub fn snug_compact_set_not_full(heap: *mut snug_compact_heap, not_full: usize);
    /// The same only for blocks of this size; 0, or -1 without memory.
    pub fn snug_compact_set_not_full_of(
        heap: *mut snug_compact_heap,
        bytes: usize,
        not_full: usize,
    ) -> c_int;
    /// Sets how many bytes a move copies before it looks at the budget.
    pub fn snug_compact_set_increment(heap: *mut snug_compact_heap, increment: usize);

    /// Compacts, within the budget if it is not null; 1 if something is left to do.
    pub fn snug_compact_step(
        heap: *mut snug_compact_heap,
        budget: *const snug_compact_budget,
    ) -> c_int;
    /// Gives so many rows of empty pages to the OS, 0 for all; returns how many went.
    pub fn snug_compact_give_back(heap: *mut snug_compact_heap, rows: usize) -> usize;
    /// Gives up the moves that a step has begun.
    pub fn snug_compact_settle(heap: *mut snug_compact_heap);

    /// A block of a heap with the option `direct`.
    pub fn snug_compact_direct_alloc(
        heap: *mut snug_compact_heap,
        bytes: usize,
        alignment: usize,
    ) -> *mut c_void;
    /// Frees a block of a heap with the option `direct`.
    pub fn snug_compact_direct_free(heap: *mut snug_compact_heap, block: *mut c_void);

    /// Fills `stats`.
    pub fn snug_compact_get_stats(heap: *const snug_compact_heap, stats: *mut snug_compact_stats);
    /// The same for the class that serves so many bytes; returns the size of its blocks, or 0: there is no class.
    pub fn snug_compact_get_stats_of(
        heap: *const snug_compact_heap,
        bytes: usize,
        stats: *mut snug_compact_stats,
    ) -> usize;
    /// Fills `view`.
    pub fn snug_compact_get_view(heap: *mut snug_compact_heap, view: *mut snug_compact_view);

    /// A reader, of which one thread at a time may use it; null with errno `ENOMEM`.
    pub fn snug_compact_reader_create(heap: *mut snug_compact_heap) -> *mut snug_compact_reader;
    /// Ends a reader, which must be outside of a section.
    pub fn snug_compact_reader_destroy(
        heap: *mut snug_compact_heap,
        reader: *mut snug_compact_reader,
    );
    /// Begins a section: a block that is looked up inside stays where it is until its end.
    pub fn snug_compact_enter(heap: *mut snug_compact_heap, reader: *mut snug_compact_reader);
    /// Ends the section.
    pub fn snug_compact_leave(heap: *mut snug_compact_heap, reader: *mut snug_compact_reader);

    /// Calls `visit` with each live block. It must not use the heap, nor unwind.
    pub fn snug_compact_walk(
        heap: *mut snug_compact_heap,
        visit: unsafe extern "C" fn(
            context: *mut c_void,
            handle: snug_handle,
            block: *mut c_void,
            bytes: usize,
        ),
        context: *mut c_void,
    );
    /// Null, or a static sentence that names the invariant that is broken. O(blocks).
    pub fn snug_compact_check(heap: *const snug_compact_heap) -> *const c_char;
}
