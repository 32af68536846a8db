//! What the crate `snug` has no safe functions over: the declarations lead to the library, and their structures are its own.

use core::ffi::c_void;
use core::mem::{size_of, zeroed};
use core::ptr::null;

use snug_sys::*;

#[test]
fn a_compacting_heap_moves_blocks() {
    unsafe {
        let heap = snug_compact_create(null());
        assert!(!heap.is_null());
        let handles: Vec<snug_handle> = (0..3000)
            .map(|_| snug_compact_alloc(heap, 100, 0))
            .collect();
        for (i, &handle) in handles.iter().enumerate() {
            snug_compact_deref(heap, handle).cast::<usize>().write(i);
        }
        for &handle in handles.iter().skip(1).step_by(2) {
            snug_compact_free(heap, handle);
        }
        let mut stats = snug_compact_stats::default();
        snug_compact_get_stats(heap, &mut stats);
        assert_eq!((stats.blocks, stats.pins), (1500, 0));
        assert!(stats.moves > 0 && stats.bytes_moved >= 100 * stats.moves);
        assert!(stats.bytes_blocks >= 150_000 && stats.bytes_not_full <= stats.bytes_bound);
        assert!(handles
            .iter()
            .enumerate()
            .step_by(2)
            .all(|(i, &handle)| snug_compact_deref(heap, handle).cast::<usize>().read() == i));
        assert!(snug_compact_try_deref(heap, handles[1]).is_null());

        unsafe extern "C" fn count(
            context: *mut c_void,
            _: snug_handle,
            _: *mut c_void,
            bytes: usize,
        ) {
            *context.cast::<usize>() += usize::from(bytes >= 100);
        }
        let mut seen = 0_usize;
        snug_compact_walk(heap, count, core::ptr::addr_of_mut!(seen).cast());
        assert_eq!(seen, 1500);
        assert!(snug_compact_check(heap).is_null());
        snug_compact_destroy(heap);
    }
}

#[test]
fn a_thread_with_deadlines_has_its_part() {
    unsafe {
        let mut stats: snug_realtime_stats = zeroed();
        assert_eq!(snug_realtime_get_stats(&mut stats), 22); // EINVAL: it has no size
        assert_eq!(snug_realtime_begin(16 << 20), 0);
        assert_eq!(snug_realtime_enter(1 << 20), 0);
        let block = snug_malloc(1000);
        assert!(!block.is_null());
        stats.size = size_of::<snug_realtime_stats>();
        assert_eq!(snug_realtime_get_stats(&mut stats), 0);
        assert_eq!((stats.threads, stats.parts, stats.refusals), (1, 1, 0));
        assert!(stats.bytes >= 16 << 20 && stats.own_bytes <= 1 << 20);
        assert!(stats.own_free + 1000 <= stats.own_bytes && stats.locked <= 1);
        snug_free(block);
        assert_eq!(snug_realtime_leave(), 0);
    }
}
