//! `snug/realtime.h`: malloc with a worst case, for threads with deadlines.

use core::ffi::c_int;

/// Values of one moment of the region and of the calling thread's part of it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct snug_realtime_stats {
    /// Bytes of this structure, set by the caller.
    pub size: usize,
    /// Bytes of the region; 0: there is none.
    pub bytes: usize,
    /// Bytes of parts that threads have, or have left with blocks inside.
    pub bytes_in_parts: usize,
    /// Threads announced now.
    pub threads: u64,
    /// Parts that threads have, or have left with blocks inside.
    pub parts: u64,
    /// Requests that a part had no room for, since the region was made.
    pub refusals: u64,
    /// Threads that the region had no part for.
    pub threads_refused: u64,
    /// Bytes of the calling thread's part, without records; 0: it is not announced.
    pub own_bytes: usize,
    /// Bytes of it that are free now; blocks on their way back are not.
    pub own_free: usize,
    /// The fewest that were, since the part was made.
    pub own_least_free: usize,
    /// 1: the kernel never takes a page of the region away; 0: it may.
    pub locked: c_int,
}

extern "C" {
    /// Makes the process's region, of at least 1 MiB; 0, or `EINVAL`, `EALREADY`, `ENOMEM`, `ENOTSUP`.
    pub fn snug_realtime_begin(bytes: usize) -> c_int;
    /// Announces the calling thread, and gives it a part of the region: of so many bytes, or a 16th for 0. 0, or `EALREADY`,
    /// `EINVAL`, `ENOMEM`.
    pub fn snug_realtime_enter(bytes: usize) -> c_int;
    /// Ends that; blocks of the part stay valid. 0, or `EINVAL`: the thread is not announced.
    pub fn snug_realtime_leave() -> c_int;
    /// Fills `stats`; 0, or `EINVAL` for a `size` that is too small.
    pub fn snug_realtime_get_stats(stats: *mut snug_realtime_stats) -> c_int;
}
