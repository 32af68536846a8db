//! The same TLSF, called directly: heaps of one pool each, without a lock and without malloc's manners.
//!
//! A heap's state and its pool are memory of the caller's. Its bins are 32 a doubling, as those of the cell heap that it
//! is compared with, and blocks lie at multiples of 16.

use core::alloc::Layout;
use core::mem::size_of;
use core::ptr::{null_mut, slice_from_raw_parts_mut, NonNull};
use rlsf::Tlsf;

const ALIGNMENT: usize = 16;

pub type Direct = Tlsf<'static, u32, u32, 32, 32>;

#[no_mangle]
pub extern "C" fn rlsf_state_bytes() -> usize {
    size_of::<Direct>()
}

/// False: the pool is too small for a heap.
#[no_mangle]
pub unsafe extern "C" fn rlsf_open(state: *mut Direct, pool: *mut u8, bytes: usize) -> bool {
    state.write(Direct::new());
    let pool = NonNull::new(slice_from_raw_parts_mut(pool, bytes));
    pool.and_then(|pool| (*state).insert_free_block_ptr(pool)).is_some()
}

/// Null: there is no memory.
#[no_mangle]
pub unsafe extern "C" fn rlsf_allocate(heap: &mut Direct, bytes: usize) -> *mut u8 {
    let layout = Layout::from_size_align_unchecked(bytes, ALIGNMENT);
    heap.allocate(layout).map_or(null_mut(), NonNull::as_ptr)
}

#[no_mangle]
pub unsafe extern "C" fn rlsf_free(heap: &mut Direct, block: NonNull<u8>) {
    heap.deallocate(block, ALIGNMENT);
}
