use core::ffi::c_void;
use core::mem::MaybeUninit;
use core::ptr::{null_mut, NonNull};

/// Blocks of one size, allocated in one call and freed in one: for a small part of what as many single calls cost.
///
/// ```
/// let mut nodes = snug::Blocks::new(64, 1000);
/// assert_eq!(nodes.len(), 1000);
/// nodes.get_mut(7).unwrap()[0].write(1);
/// ```
#[derive(Debug)]
pub struct Blocks {
    size: usize,
    addresses: Vec<*mut c_void>,
}

// Safety: a block belongs to no thread.
unsafe impl Send for Blocks {}
unsafe impl Sync for Blocks {}

impl Blocks {
    /// Allocates `count` blocks of `size` bytes, each aligned to 16; fewer if memory runs out. Their addresses stand in a
    /// `Vec`, for which there has to be memory.
    pub fn new(size: usize, count: usize) -> Self {
        let mut addresses = vec![null_mut(); count];
        // Safety: the array has room for so many.
        let there = unsafe { snug_sys::snug_malloc_batch(size, addresses.as_mut_ptr(), count) };
        addresses.truncate(there);
        Self { size, addresses }
    }

    /// How many blocks there are.
    pub fn len(&self) -> usize {
        self.addresses.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.addresses.is_empty()
    }

    /// Bytes of each block.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The bytes of a block.
    pub fn get_mut(&mut self, index: usize) -> Option<&mut [MaybeUninit<u8>]> {
        let address = *self.addresses.get(index)?;
        // Safety: the block is live, of that size, and no other's.
        Some(unsafe { core::slice::from_raw_parts_mut(address.cast(), self.size) })
    }

    /// Takes the last block out: it is the caller's to free, by [`Blocks::free_all`] or as any block of snug's.
    pub fn pop(&mut self) -> Option<NonNull<u8>> {
        NonNull::new(self.addresses.pop()?.cast())
    }

    /// Frees blocks of any sizes, whichever of snug's functions they come from, in one call. Nulls are passed over.
    ///
    /// # Safety
    ///
    /// Each is null, or a live block of snug's that is not used any more, and none stands there twice.
    pub unsafe fn free_all(blocks: &[*mut u8]) {
        snug_sys::snug_free_batch(blocks.as_ptr().cast(), blocks.len());
    }
}

impl Drop for Blocks {
    fn drop(&mut self) {
        // Safety: the blocks are live, and nothing refers to them any more.
        unsafe { snug_sys::snug_free_batch(self.addresses.as_ptr(), self.addresses.len()) };
    }
}
