//! TLSF of the crate rlsf as a malloc to preload: one heap, one lock, one growing pool.
//!
//! TLSF bounds the time of an operation on one pool and says nothing of threads; a mutex around the pool is what its
//! users add. The pool is one reservation of addresses that grows at its end, in steps of `STEP`, and is never given
//! back: a block of memory from the system for each growth, which is what rlsf itself would ask for, would leave
//! borders across which nothing coalesces.
//!
//! Invariant: a block's address is a multiple of `GRANULARITY` exactly if it was asked for with at least that alignment.
//! (rlsf's own payloads begin half of it behind a multiple of it.) So `free`, which is not told the alignment, can tell.
#![no_std]

pub mod direct;

use core::alloc::Layout;
use core::cell::UnsafeCell;
use core::ptr::{self, null_mut, NonNull};
use libc::{c_int, c_void, size_t};
use rlsf::{FlexSource, FlexTlsf, GRANULARITY};

const STEP: usize = 1 << 16;
const RESERVED: usize = 1 << 38; // addresses, not memory; tried smaller where a limit forbids so much
const SMALLEST_RESERVED: usize = 1 << 30;
const ALIGNMENT: usize = 16; // of malloc

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    unsafe { libc::abort() }
}

struct Reservation {
    reserved: usize,
}

impl Reservation {
    /// Addresses for the one pool, without memory behind them; null if there are none, or if they have been taken.
    unsafe fn reserve(&mut self) -> *mut u8 {
        let mut size = if self.reserved == 0 { RESERVED } else { 0 };
        while size >= SMALLEST_RESERVED {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
            let memory = libc::mmap(null_mut(), size, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
            if memory != libc::MAP_FAILED {
                self.reserved = size;
                return memory as *mut u8;
            }
            size /= 2;
        }
        null_mut()
    }

    fn step(&self, size: usize) -> Option<usize> {
        let length = size.checked_add(STEP - 1)? & !(STEP - 1);
        (length <= self.reserved).then_some(length)
    }
}

unsafe impl FlexSource for Reservation {
    unsafe fn alloc(&mut self, min_size: usize) -> Option<NonNull<[u8]>> {
        let start = self.reserve();
        if start.is_null() {
            return None;
        }
        NonNull::new(ptr::slice_from_raw_parts_mut(start, self.step(min_size)?))
    }
    unsafe fn realloc_inplace_grow(&mut self, _: NonNull<[u8]>, min_new_len: usize) -> Option<usize> {
        self.step(min_new_len)
    }
    fn supports_realloc_inplace_grow(&self) -> bool {
        true
    }
    fn min_align(&self) -> usize {
        GRANULARITY // mmap's is an OS page
    }
}

type Tlsf = FlexTlsf<Reservation, usize, usize, { usize::BITS as usize }, { usize::BITS as usize }>;

struct Heap {
    tlsf: UnsafeCell<Tlsf>,
    lock: UnsafeCell<libc::pthread_mutex_t>,
}
unsafe impl Sync for Heap {}

static HEAP: Heap = Heap {
    tlsf: UnsafeCell::new(Tlsf::new(Reservation { reserved: 0 })),
    lock: UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER),
};

/// What `work` returns, done under the lock.
unsafe fn locked<R>(work: impl FnOnce(&mut Tlsf) -> R) -> R {
    libc::pthread_mutex_lock(HEAP.lock.get());
    let result = work(&mut *HEAP.tlsf.get());
    libc::pthread_mutex_unlock(HEAP.lock.get());
    result
}

unsafe extern "C" fn before_fork() {
    libc::pthread_mutex_lock(HEAP.lock.get());
}
unsafe extern "C" fn after_fork() {
    libc::pthread_mutex_unlock(HEAP.lock.get());
}

unsafe extern "C" fn register_fork_handlers() {
    libc::pthread_atfork(Some(before_fork), Some(after_fork), Some(after_fork));
}
#[used]
#[link_section = ".init_array"]
static AT_START: unsafe extern "C" fn() = register_fork_handlers;

unsafe fn no_memory() -> *mut c_void {
    *libc::__errno_location() = libc::ENOMEM;
    null_mut()
}

unsafe fn allocate(size: usize, alignment: usize) -> *mut c_void {
    // A size of 0 gets a block of its own, as malloc's callers expect.
    let block = Layout::from_size_align(size.max(1), alignment).ok().and_then(|layout| locked(|t| t.allocate(layout)));
    match block {
        Some(address) => address.as_ptr() as *mut c_void,
        None => no_memory(),
    }
}

fn alignment_of(block: *mut c_void) -> usize {
    if block as usize % GRANULARITY == 0 { GRANULARITY } else { ALIGNMENT }
}

#[no_mangle]
pub unsafe extern "C" fn malloc(size: size_t) -> *mut c_void {
    allocate(size, ALIGNMENT)
}

#[no_mangle]
pub unsafe extern "C" fn free(block: *mut c_void) {
    if let Some(address) = NonNull::new(block as *mut u8) {
        locked(|t| t.deallocate(address, alignment_of(block)));
    }
}

#[no_mangle]
pub unsafe extern "C" fn calloc(count: size_t, size: size_t) -> *mut c_void {
    let Some(bytes) = count.checked_mul(size) else { return no_memory() };
    let block = allocate(bytes, ALIGNMENT);
    if !block.is_null() {
        // Memory is used again, so that it has to be cleared.
        libc::memset(block, 0, bytes);
    }
    block
}

#[no_mangle]
pub unsafe extern "C" fn realloc(block: *mut c_void, size: size_t) -> *mut c_void {
    let Some(address) = NonNull::new(block as *mut u8) else { return malloc(size) };
    if size == 0 {
        free(block);
        return null_mut();
    }
    let layout = Layout::from_size_align(size, alignment_of(block));
    match layout.ok().and_then(|layout| locked(|t| t.reallocate(address, layout))) {
        Some(moved) => moved.as_ptr() as *mut c_void,
        None => no_memory(),
    }
}

#[no_mangle]
pub unsafe extern "C" fn memalign(alignment: size_t, size: size_t) -> *mut c_void {
    if !alignment.is_power_of_two() {
        *libc::__errno_location() = libc::EINVAL;
        return null_mut();
    }
    allocate(size, alignment.max(ALIGNMENT))
}

#[no_mangle]
pub unsafe extern "C" fn aligned_alloc(alignment: size_t, size: size_t) -> *mut c_void {
    memalign(alignment, size)
}

#[no_mangle]
pub unsafe extern "C" fn posix_memalign(place: *mut *mut c_void, alignment: size_t, size: size_t) -> c_int {
    if !alignment.is_power_of_two() || alignment % core::mem::size_of::<usize>() != 0 {
        return libc::EINVAL;
    }
    let block = allocate(size, alignment.max(ALIGNMENT));
    if block.is_null() {
        return libc::ENOMEM;
    }
    *place = block;
    0
}

#[no_mangle]
pub unsafe extern "C" fn valloc(size: size_t) -> *mut c_void {
    memalign(libc::sysconf(libc::_SC_PAGESIZE) as usize, size)
}

#[no_mangle]
pub unsafe extern "C" fn malloc_usable_size(block: *mut c_void) -> size_t {
    NonNull::new(block as *mut u8).map_or(0, |address| Tlsf::allocation_usable_size(address))
}
