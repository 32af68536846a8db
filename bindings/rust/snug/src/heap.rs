use core::alloc::Layout;
use core::ffi::{c_char, CStr};
use core::mem::{size_of, ManuallyDrop};
use core::ptr::{null, null_mut, NonNull};
use std::io;

use snug_sys::{snug_heap, snug_heap_options, snug_heap_stats, SNUG_HEAP_NAME_MAX};

use crate::global::{serves_in_place, ALIGNED};

/// A heap of one's own, beside the one of the global allocator: for a request, a tenant, a query, a plugin. Dropping it ends
/// all of its blocks at once, freed or not.
///
/// ```
/// use std::alloc::Layout;
///
/// let heap = snug::Heap::new()?;
/// let block = heap.alloc(Layout::new::<[u64; 100]>()).expect("no limit is set");
/// assert_eq!(heap.stats().blocks_in_use, 1);
/// drop(heap); // and `block` must not be used any more
/// # let _ = block;
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// Any thread may use a heap at any time, through a shared reference. Its blocks are plain addresses: the compiler does
/// not see that they end with the heap. Code that uses or frees one, all of it `unsafe`, promises that the heap is still there,
/// and that no other thread drops it meanwhile. A value in a block is not dropped by the heap.
#[derive(Debug)]
pub struct Heap {
    heap: NonNull<snug_heap>,
}

// Safety: every function of heap.h may be called by any thread at any time, but for those that have the heap for itself:
// they take it by value.
unsafe impl Send for Heap {}
unsafe impl Sync for Heap {}

/// What a heap is created with; nothing is set by default.
///
/// ```
/// let heap = snug::HeapOptions::new().name("tenant 7").limit(16 << 20).create()?;
/// assert_eq!((heap.name(), heap.stats().limit), ("tenant 7", 16 << 20));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct HeapOptions<'a> {
    name: &'a str,
    limit: usize,
    soft_limit: usize,
    must_be_empty: bool,
    node: Option<u32>,
    region: Option<NonNull<[u8]>>,
}

impl<'a> HeapOptions<'a> {
    /// Nothing is set.
    pub fn new() -> Self {
        Self::default()
    }

    /// The heap's name, of which the first 31 bytes are kept.
    pub fn name(mut self, name: &'a str) -> Self {
        self.name = name;
        self
    }

    /// The most memory that the heap may hold, in bytes: pages that its blocks lie on, and large blocks. A request beyond it
    /// is refused, once callbacks ([`on_pressure`](crate::on_pressure)) free nothing more; one that exceeds it by itself, at once.
    /// 0: none.
    pub fn limit(mut self, bytes: usize) -> Self {
        self.limit = bytes;
        self
    }

    /// The memory beyond which what is empty goes back and callbacks are asked to free some, in bytes. 0: none.
    pub fn soft_limit(mut self, bytes: usize) -> Self {
        self.soft_limit = bytes;
        self
    }

    /// Whether [`Heap::destroy`] refuses, and dropping leaks the heap, while blocks are in use.
    pub fn must_be_empty(mut self, must: bool) -> Self {
        self.must_be_empty = must;
        self
    }

    /// The node of a NUMA machine, as the kernel counts, that all memory of the heap's blocks comes from; not with a region. Each
    /// slab and large block that comes or goes takes a system call. Where the node has no memory left, the kernel ends a process,
    /// as on a full machine.
    pub fn node(mut self, node: u32) -> Self {
        self.node = Some(node);
        self
    }

    /// Memory in which all blocks of the heap lie; its address and length are multiples of
    /// [`SNUG_HEAP_REGION_UNIT`](snug_sys::SNUG_HEAP_REGION_UNIT). A request that finds no room there is refused.
    ///
    /// # Safety
    ///
    /// The memory can be read and written, and nothing else uses it, until these options and all copies of them are used no more,
    /// and every heap that was created from one is gone.
    pub unsafe fn region(mut self, region: NonNull<[u8]>) -> Self {
        self.region = Some(region);
        self
    }

    /// The heap.
    ///
    /// # Errors
    ///
    /// The name has a null in it, the region is none, or the process may have no memory of the node (`InvalidInput`); the kernel
    /// knows no nodes (`Unsupported`), or a filter keeps it from telling (`PermissionDenied`); the region overlaps another heap's
    /// (`AlreadyExists`); or there is no memory.
    pub fn create(self) -> io::Result<Heap> {
        let mut name = [0; SNUG_HEAP_NAME_MAX + 1];
        let mut kept = self.name.len().min(SNUG_HEAP_NAME_MAX);
        while !self.name.is_char_boundary(kept) {
            kept -= 1;
        }
        name[..kept].copy_from_slice(&self.name.as_bytes()[..kept]);
        if self.name.contains('\0') {
            let reason = "the name of a heap has a null in it";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
        }
        let options = snug_heap_options {
            size: size_of::<snug_heap_options>(),
            name: if kept == 0 {
                null()
            } else {
                name.as_ptr().cast()
            },
            limit: self.limit,
            soft_limit: self.soft_limit,
            flags: if self.must_be_empty {
                snug_sys::SNUG_HEAP_MUST_BE_EMPTY
            } else {
                0
            } | self.node.map_or(0, |_| snug_sys::SNUG_HEAP_ON_NODE),
            node: self.node.unwrap_or(0),
            region: self
                .region
                .map_or(null_mut(), |region| region.as_ptr().cast()),
            region_bytes: self.region.map_or(0, |region| region.len()),
        };
        // Safety: the options and the name live as long as the call, which copies them.
        let heap = NonNull::new(unsafe { snug_sys::snug_heap_create(&options) });
        heap.map(|heap| Heap { heap })
            .ok_or_else(io::Error::last_os_error)
    }
}

impl Heap {
    /// A heap without a name and limits.
    ///
    /// # Errors
    ///
    /// There is no memory.
    pub fn new() -> io::Result<Self> {
        HeapOptions::new().create()
    }

    /// A block of that size and alignment, which lasts until it is freed or the heap is gone; nothing without memory, or
    /// beyond the heap's limit.
    pub fn alloc(&self, layout: Layout) -> Option<NonNull<u8>> {
        let heap = self.heap.as_ptr();
        // Safety: the heap is live, and alignments of a Layout are powers of two.
        let block = unsafe {
            if layout.align() <= ALIGNED {
                snug_sys::snug_heap_malloc(heap, layout.size())
            } else {
                snug_sys::snug_heap_aligned_alloc(heap, layout.align(), layout.size())
            }
        };
        NonNull::new(block.cast())
    }

    /// The same, of bytes that are zero.
    pub fn alloc_zeroed(&self, layout: Layout) -> Option<NonNull<u8>> {
        // Safety: as of alloc().
        let block = unsafe {
            snug_sys::snug_heap_aligned_calloc(self.heap.as_ptr(), layout.align(), 1, layout.size())
        };
        NonNull::new(block.cast())
    }

    /// Frees a block.
    ///
    /// # Safety
    ///
    /// It is a live block of this heap, got for that layout, and is not used any more.
    pub unsafe fn dealloc(&self, block: NonNull<u8>, _layout: Layout) {
        snug_sys::snug_free(block.as_ptr().cast());
    }

    /// The block at its new size and the same alignment, moved or not, contents kept up to the smaller size; nothing if that
    /// is refused, and the block is as it was.
    ///
    /// # Safety
    ///
    /// It is a live block of this heap, got for that layout, and is not used any more if another is returned. The size,
    /// rounded up to the alignment, does not exceed `isize::MAX`.
    pub unsafe fn realloc(
        &self,
        block: NonNull<u8>,
        layout: Layout,
        size: usize,
    ) -> Option<NonNull<u8>> {
        if layout.align() <= ALIGNED {
            // Size 0 would free it.
            let heap = self.heap.as_ptr();
            let resized = snug_sys::snug_heap_realloc(heap, block.as_ptr().cast(), size.max(1));
            return NonNull::new(resized.cast());
        }
        if serves_in_place(block.as_ptr(), layout, size) {
            return Some(block);
        }
        let other = self.alloc(Layout::from_size_align_unchecked(size, layout.align()))?;
        let kept = size.min(layout.size());
        other
            .as_ptr()
            .copy_from_nonoverlapping(block.as_ptr(), kept);
        self.dealloc(block, layout);
        Some(other)
    }

    /// Whether a block lies in this heap: one that is live, or else the answer says nothing.
    pub fn owns(&self, block: *const u8) -> bool {
        // Safety: nothing is read at the address.
        unsafe { snug_sys::snug_heap_of(block.cast()) == self.heap.as_ptr() }
    }

    /// The name, or `""`.
    pub fn name(&self) -> &str {
        // Safety: it ends with a null and stays as it is while the heap lives; create() has cut it between characters.
        let name: *const c_char = unsafe { snug_sys::snug_heap_name(self.heap.as_ptr()) };
        unsafe { CStr::from_ptr(name) }.to_str().unwrap_or("?")
    }

    /// Values of this moment. O(classes and caches).
    pub fn stats(&self) -> snug_heap_stats {
        let mut stats = snug_heap_stats::default();
        // Safety: the heap is live, and the structure ours.
        unsafe { snug_sys::snug_heap_get_stats(self.heap.as_ptr(), &mut stats) };
        stats
    }

    /// Gives back pages without a block in use. True if there were any. O(slabs).
    pub fn trim(&self) -> bool {
        // Safety: the heap is live.
        unsafe { snug_sys::snug_heap_trim(self.heap.as_ptr()) != 0 }
    }

    /// Ends the heap and all of its blocks, as dropping it does.
    ///
    /// # Errors
    ///
    /// The heap, as it was: it must be empty, and blocks are in use.
    pub fn destroy(self) -> Result<(), Self> {
        let heap = ManuallyDrop::new(self);
        // Safety: no reference to the heap is left, so that nothing else uses it; of blocks the caller has promised that.
        match unsafe { snug_sys::snug_heap_destroy(heap.heap.as_ptr()) } {
            0 => Ok(()),
            _ => Err(ManuallyDrop::into_inner(heap)),
        }
    }

    pub(crate) fn as_ptr(&self) -> *mut snug_heap {
        self.heap.as_ptr()
    }
}

impl Drop for Heap {
    fn drop(&mut self) {
        // Safety: as of destroy(). One that must be empty and is not stays for the rest of the process.
        unsafe { snug_sys::snug_heap_destroy(self.heap.as_ptr()) };
    }
}
