use core::cell::Cell;
use core::ffi::{c_int, c_uint, c_void};
use core::marker::PhantomData;
use core::ops::BitOr;
use std::io;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::process::abort;
use std::sync::{Mutex, PoisonError};

use snug_sys::{snug_limits, snug_pressure, snug_pressure_callback};

use crate::Heap;

/// What the heap of the process holds and may hold, at this moment.
///
/// ```
/// let limits = snug::limits();
/// assert_eq!((limits.limit, limits.refused), (0, 0)); // none is set
/// ```
pub fn limits() -> snug_limits {
    let mut limits = snug_limits {
        size: std::mem::size_of::<snug_limits>() as u64,
        ..Default::default()
    };
    // Safety: the structure is ours.
    unsafe { snug_sys::snug_get_limits(&mut limits) };
    limits
}

/// Why a callback is called, or for what it is to be called: one level or more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Levels(c_uint);

impl Levels {
    /// More is held than the soft limit. The request is served.
    pub const SOFT: Self = Self(snug_sys::SNUG_PRESSURE_SOFT);
    /// Tasks of the container wait for memory.
    pub const STALL: Self = Self(snug_sys::SNUG_PRESSURE_STALL);
    /// A request is about to be refused, by a limit or by the OS.
    pub const HARD: Self = Self(snug_sys::SNUG_PRESSURE_HARD);
    /// All of these.
    pub const ALL: Self = Self(snug_sys::SNUG_PRESSURE_ALL);

    /// Whether all of the others are among these.
    pub fn contains(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }
}

impl BitOr for Levels {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// What a callback is told.
#[derive(Clone, Copy, Debug)]
pub struct Pressure<'a> {
    told: snug_pressure,
    call: PhantomData<&'a snug_pressure>,
}

impl Pressure<'_> {
    /// One level.
    pub fn level(&self) -> Levels {
        Levels(self.told.level)
    }

    /// Bytes held now.
    pub fn held(&self) -> u64 {
        self.told.held
    }

    /// The limit that was passed, in bytes; nothing where the OS refuses, or tasks wait.
    pub fn limit(&self) -> Option<u64> {
        (self.told.limit != 0).then_some(self.told.limit)
    }

    /// Bytes that are about to be refused; else 0.
    pub fn wanted(&self) -> u64 {
        self.told.wanted
    }

    /// Whether the limit is that of the whole process, and not of a [`Heap`].
    pub fn is_of_process(&self) -> bool {
        self.told.heap.is_null()
    }

    /// Whether the limit is that of this heap.
    pub fn is_of(&self, heap: &Heap) -> bool {
        self.told.heap == heap.as_ptr()
    }
}

/// Has a closure called at such levels, until what is returned here is dropped. The closure frees what the program can do
/// without, and returns whether it has freed something: a request that is about to be refused is tried again then.
///
/// ```
/// use std::sync::{Arc, Mutex};
///
/// let cache = Arc::new(Mutex::new(vec![vec![1_u8; 1 << 20]; 8]));
/// let held = Arc::clone(&cache);
/// let _callback = snug::on_pressure(snug::Levels::SOFT | snug::Levels::HARD, move |_| {
///     // Only tried: this thread may hold the lock, and ask for memory beneath it.
///     held.try_lock().is_ok_and(|mut cache| cache.pop().is_some())
/// })?;
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// It runs in the thread that asks for memory, inside of any allocation: of a library's, of a thread-local value's that is being
/// made, of a collection's in the midst of growing. So it uses only what is its own: no value that the code around may be
/// using, as by a thread-local `RefCell`, and no lock that it waits for, as the thread may hold it and would wait for itself.
/// What is shared it should only try, or change by atomics. Several threads may be in it at once. It may allocate and free, and is not
/// called again inside itself. With [`Levels::STALL`] it runs in a thread of snug's, with a stack of 256 KiB. If it panics,
/// the process ends.
///
/// # Errors
///
/// There are 16 callbacks already.
pub fn on_pressure<F>(levels: Levels, callback: F) -> io::Result<OnPressure>
where
    F: Fn(&Pressure<'_>) -> bool + Send + Sync + 'static,
{
    let closure = Closure {
        call: call::<F>,
        argument: Box::into_raw(Box::new(Held {
            next: None,
            callback,
        }))
        .cast(),
        release: release::<F>,
    };
    // Safety: the closure stays until it is called no more.
    if unsafe { snug_sys::snug_on_pressure(Some(closure.call), closure.argument, levels.0) } != 0 {
        let error = io::Error::last_os_error();
        // Safety: it has never been called.
        unsafe { (closure.release)(closure.argument) };
        return Err(error);
    }
    Ok(OnPressure { closure })
}

/// A callback that [`on_pressure`] has set. When this is dropped the closure is called no more, and runs in no other thread: do
/// not drop it beneath a lock that the closure waits for. A closure, this one or another, may drop it: then threads may still be
/// in it, and it goes when the next callback is dropped outside of any closure, which waits for it in the same way. It must not be
/// dropped in a callback that was set by [`snug_sys::snug_on_pressure`] itself.
///
/// One that is not kept is gone at once, of which the compiler warns:
///
/// ```compile_fail
/// #![deny(unused_must_use)]
/// # fn main() {
/// snug::on_pressure(snug::Levels::ALL, |_| false).unwrap();
/// # }
/// ```
#[derive(Debug)]
#[must_use = "the closure is called no more when this is dropped"]
pub struct OnPressure {
    closure: Closure,
}

/// `next` comes first, so that it is found whatever the closure is. It is of the list of those that were dropped in closures,
/// where nothing can be allocated.
#[repr(C)]
struct Held<F> {
    next: Option<Closure>,
    callback: F,
}

#[derive(Clone, Copy, Debug)]
struct Closure {
    call: snug_pressure_callback,
    argument: *mut c_void,
    release: unsafe fn(*mut c_void),
}

// Safety: the closure behind it is Send and Sync, and the callback may be taken away by any thread.
unsafe impl Send for Closure {}
unsafe impl Sync for Closure {}

impl Closure {
    /// From now on it is called no more. Outside of closures, it runs in no thread any more.
    fn forget(self) {
        // Safety: a callback is known by these pointers as long as the closure is there.
        unsafe { snug_sys::snug_on_pressure(Some(self.call), self.argument, 0) };
    }
}

thread_local! {
    /// Whether the thread is in a closure. The library waits for no other thread then.
    static IS_INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Those that were dropped in closures, the first of a list.
static DROPPED_INSIDE: Mutex<Option<Closure>> = Mutex::new(None);

impl Drop for OnPressure {
    fn drop(&mut self) {
        self.closure.forget();
        let mut first = DROPPED_INSIDE
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let before = first.take();
        // Safety: the closure is there, and its place in the list is this thread's until it is in it.
        unsafe { *self.closure.argument.cast::<Option<Closure>>() = before };
        if IS_INSIDE.get() {
            *first = Some(self.closure);
            return;
        }
        drop(first);
        let mut next = Some(self.closure);
        while let Some(closure) = next {
            closure.forget();
            // Safety: no thread is in it, and none comes.
            unsafe {
                next = *closure.argument.cast::<Option<Closure>>();
                (closure.release)(closure.argument);
            }
        }
    }
}

/// The function that the library calls, with the closure as its argument.
unsafe extern "C" fn call<F>(told: *const snug_pressure, argument: *mut c_void) -> c_int
where
    F: Fn(&Pressure<'_>) -> bool,
{
    // It is there until no thread is in it, whatever it drops.
    let callback = &(*argument.cast_const().cast::<Held<F>>()).callback;
    let pressure = Pressure {
        told: *told,
        call: PhantomData,
    };
    IS_INSIDE.set(true);
    // The library cannot be unwound.
    let has_freed =
        catch_unwind(AssertUnwindSafe(|| callback(&pressure))).unwrap_or_else(|_| abort());
    IS_INSIDE.set(false);
    c_int::from(has_freed)
}

unsafe fn release<F>(argument: *mut c_void) {
    drop(Box::from_raw(argument.cast::<Held<F>>()));
}
