//! The sampled heap profile: which call stacks hold the memory of a process that runs.

use core::ffi::{c_int, c_void};
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::process::abort;

use snug_sys::{snug_sample, snug_sampler};

/// The usual mean distance of samples, in bytes.
pub const DISTANCE: usize = snug_sys::SNUG_PROFILE_DISTANCE;

/// Starts the profile, or goes on with another mean distance between samples, in bytes, from 1 KiB to 1 GiB. Blocks that were
/// allocated while it was off are not in it.
///
/// # Errors
///
/// It is no such distance (`InvalidInput`); memory is short; or the process checks its blocks (`Unsupported`).
pub fn start(distance: usize) -> io::Result<()> {
    // Safety: may be called at any time, as all functions of snug's profile.
    answer(unsafe { snug_sys::snug_profile_start(distance) })
}

/// Takes no more samples. Those that there are leave the profile as their blocks are freed.
pub fn stop() {
    // Safety: as above.
    unsafe { snug_sys::snug_profile_stop() }
}

/// The mean distance, in bytes; nothing while the profile is off.
pub fn distance() -> Option<usize> {
    // Safety: as above.
    match unsafe { snug_sys::snug_profile_distance() } {
        0 => None,
        distance => Some(distance),
    }
}

/// What a profile is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Protocol buffers as pprof reads them: allocated, live and peak, with mappings and build ids. Addresses alone: `go tool
    /// pprof` looks up the names.
    Pprof,
    /// Lines `address;address;... bytes` of what is live.
    Collapsed,
}

/// Writes the profile to a file, from where it stands. Other threads go on meanwhile.
///
/// ```
/// # #[global_allocator]
/// # static GLOBAL: snug::Snug = snug::Snug;
/// # let path = std::env::temp_dir().join(format!("snug-{}.pb", std::process::id()));
/// snug::profile::start(snug::profile::DISTANCE)?;
/// let held = vec![1_u8; 64 << 20];
/// snug::profile::write(&std::fs::File::create(&path)?, snug::profile::Format::Pprof)?;
/// # assert!(std::fs::metadata(&path)?.len() > 100);
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
///
/// The profile was never started, memory is short, or the file could not be written.
pub fn write(file: &impl AsFd, format: Format) -> io::Result<()> {
    let format = match format {
        Format::Pprof => snug_sys::SNUG_PROFILE_PPROF,
        Format::Collapsed => snug_sys::SNUG_PROFILE_COLLAPSED,
    };
    // Safety: the descriptor is open as long as it is borrowed.
    answer(unsafe { snug_sys::snug_profile_write(file.as_fd().as_raw_fd(), format) })
}

fn answer(code: c_int) -> io::Result<()> {
    match code {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// A block that was chosen.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Where it lies. Its user does not have it yet, and it is not to be written.
    pub block: *const u8,
    /// Bytes asked for; of a block up to 64 KiB rounded up to 16.
    pub size: usize,
    /// How many such blocks it stands for.
    pub weight: f64,
}

impl Sample {
    /// Bytes of all blocks that it stands for.
    pub fn bytes(&self) -> f64 {
        self.weight * self.size as f64
    }
}

/// What [`set_sampler`] has called for each sample, by the thread that allocates or frees, in the middle of that call, with
/// whatever locks that thread holds. That call may be any: of a library's, in a signal's handler, in the child of a fork, where a
/// thread-local value is being made or dropped. So it uses only what is its own: best what atomics change, and no value that the
/// code around may be using. It may allocate, and is not sampled meanwhile; it must not wait for a thread that may be in
/// it, nor for a lock that its own thread may hold. If it panics, the process ends.
pub trait Sampler: Sync {
    /// A block has been sampled. Returns a tag, 0 for none.
    fn sampled(&self, sample: &Sample) -> u64;
    /// The block with the tag is about to be freed, by any thread. Not called for tag 0.
    fn freed(&self, tag: u64);
}

/// Has a sampler called for each sample from now on, instead of the one before, which is still told of the blocks that it has
/// tagged: so it lives as long as the process. Takes a few bytes that are never freed.
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
///
/// # #[global_allocator]
/// # static GLOBAL: snug::Snug = snug::Snug;
/// struct Live(AtomicU64); // bytes
///
/// impl snug::profile::Sampler for Live {
///     fn sampled(&self, sample: &snug::profile::Sample) -> u64 {
///         let bytes = sample.bytes() as u64;
///         self.0.fetch_add(bytes, Relaxed);
///         bytes // the tag is all that is to be kept
///     }
///     fn freed(&self, tag: u64) {
///         self.0.fetch_sub(tag, Relaxed);
///     }
/// }
///
/// static LIVE: Live = Live(AtomicU64::new(0));
/// snug::profile::set_sampler(&LIVE);
/// snug::profile::start(snug::profile::DISTANCE)?;
/// let held = vec![1_u8; 64 << 20];
/// assert!(LIVE.0.load(Relaxed) >= 64 << 20);
/// drop(held);
/// assert!(LIVE.0.load(Relaxed) < 64 << 20);
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn set_sampler<S: Sampler>(sampler: &'static S) {
    let hooks = Box::leak(Box::new(snug_sampler {
        context: core::ptr::from_ref(sampler).cast_mut().cast(),
        sampled: Some(sampled::<S>),
        freed: Some(freed::<S>),
    }));
    // Safety: the structure and the sampler stay, and the sampler may be used by any thread.
    unsafe { snug_sys::snug_set_sampler(hooks) }
}

/// Has none called any more, but for blocks that were tagged.
pub fn clear_sampler() {
    // Safety: null is none.
    unsafe { snug_sys::snug_set_sampler(core::ptr::null()) }
}

unsafe extern "C" fn sampled<S: Sampler>(context: *mut c_void, told: *const snug_sample) -> u64 {
    let sampler = &*context.cast_const().cast::<S>();
    let sample = Sample {
        block: (*told).block.cast_const().cast(),
        size: (*told).size,
        weight: (*told).weight,
    };
    // The library cannot be unwound.
    catch_unwind(AssertUnwindSafe(|| sampler.sampled(&sample))).unwrap_or_else(|_| abort())
}

unsafe extern "C" fn freed<S: Sampler>(context: *mut c_void, tag: u64, _block: *mut c_void) {
    let sampler = &*context.cast_const().cast::<S>();
    catch_unwind(AssertUnwindSafe(|| sampler.freed(tag))).unwrap_or_else(|_| abort());
}
