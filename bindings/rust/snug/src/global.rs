use core::alloc::{GlobalAlloc, Layout};
use core::ffi::c_void;

/// The allocator, for `#[global_allocator]`.
///
/// ```
/// #[global_allocator]
/// static GLOBAL: snug::Snug = snug::Snug;
///
/// let before = snug::stats().allocations;
/// let text = String::from("served by snug");
/// assert!(snug::stats().allocations > before && !text.is_empty());
/// ```
///
/// Each free tells the size and the alignment that the program asked for; `SNUG_CONF=check:on` compares them with the block's.
#[derive(Clone, Copy, Debug, Default)]
pub struct Snug;

/// What every block is aligned to.
pub(crate) const ALIGNED: usize = 16;

// Safety: each block comes from one of snug's functions, which fulfil what the trait asks for, null on refusal included;
// none unwinds.
unsafe impl GlobalAlloc for Snug {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.align() <= ALIGNED {
            snug_sys::snug_malloc(layout.size()).cast()
        } else {
            snug_sys::snug_aligned_alloc(layout.align(), layout.size()).cast()
        }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if layout.align() <= ALIGNED {
            snug_sys::snug_free_sized(block.cast(), layout.size());
        } else {
            snug_sys::snug_free_aligned_sized(block.cast(), layout.align(), layout.size());
        }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if layout.align() <= ALIGNED {
            return snug_sys::snug_calloc(1, layout.size()).cast();
        }
        snug_sys::snug_aligned_calloc(layout.align(), 1, layout.size()).cast()
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if layout.align() <= ALIGNED {
            return snug_sys::snug_realloc(block.cast(), size).cast();
        }
        if serves_in_place(block, layout, size) {
            return block;
        }
        let other = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
        if !other.is_null() {
            other.copy_from_nonoverlapping(block, size.min(layout.size()));
            self.dealloc(block, layout);
        }
        other
    }
}

/// Whether the block serves at the new size where it stands, longer then if it has to be: for alignments that C's realloc does not
/// keep. As there a block stays of which at least half is used, and one than which none of that alignment is smaller.
///
/// # Safety
///
/// The block is a live one of snug's, got for that layout.
pub(crate) unsafe fn serves_in_place(block: *mut u8, layout: Layout, size: usize) -> bool {
    if size == layout.size() {
        return true;
    }
    if size > layout.size() {
        return snug_sys::snug_try_expand(block.cast(), size) != 0;
    }
    // With check:on what is told as a block is freed has to be what it was asked for with. Nothing beyond that may be used there,
    // so that the block is not expanded above, and moves here; as does a block without checks that fills its class.
    let usable = usable_size(block);
    usable > layout.size() && (usable <= layout.align() || usable - size <= usable / 2)
}

/// How many bytes of the block may be used: at least as many as were asked for. 0 for null.
///
/// # Safety
///
/// The block is null, or a live one of snug's.
pub unsafe fn usable_size(block: *const u8) -> usize {
    snug_sys::snug_malloc_usable_size(block.cast_mut().cast::<c_void>())
}
