use core::ffi::{c_char, CStr};
use std::ffi::CString;
use std::io;
use std::sync::Mutex;

use snug_sys::{snug_config_entry, snug_memory, snug_stats};

// Safety, of all below: the functions may be called by any thread at any time, unless they say otherwise, and what they
// fill is ours. Strings are static, and of ASCII.

/// Statistics of this moment. Exact while no other thread runs.
pub fn stats() -> snug_stats {
    let mut stats = snug_stats::default();
    unsafe { snug_sys::snug_get_stats(&mut stats) };
    stats
}

/// Where each byte of snug's is that the kernel counts as in memory; nothing if the kernel does not say it. Slow: O(memory).
///
/// ```
/// let block = vec![1_u8; 1 << 20];
/// if let Some(memory) = snug::memory() {
///     println!("{} of {} bytes are what the program asked for", memory.requested, memory.rss);
/// }
/// drop(block);
/// ```
pub fn memory() -> Option<snug_memory> {
    let mut memory = snug_memory::default();
    (unsafe { snug_sys::snug_get_memory(&mut memory) } == 0).then_some(memory)
}

/// Empties the caches of all threads, and gives the OS every page without a live block, but for about `pad` bytes. True if
/// anything was given back. Slow: walks the heap.
pub fn trim(pad: usize) -> bool {
    unsafe { snug_sys::snug_malloc_trim(pad) != 0 }
}

/// Gives back all that is free: `trim(0)`.
pub fn purge() -> bool {
    trim(0)
}

/// Gives back about so many bytes at most of what is empty and kept, the oldest first; returns how many, 0 if none are left.
/// Leaves the caches of threads alone. For idle slices of an event loop.
///
/// ```
/// drop(vec![1_u8; 1 << 20]);
/// while snug::purge_some(4 << 20) != 0 {}
/// ```
pub fn purge_some(bytes: usize) -> usize {
    unsafe { snug_sys::snug_purge(bytes) }
}

/// Changes settings of the running process, as `SNUG_CONF` has them: `"limit:2G,soft_limit:1500M"`.
///
/// # Errors
///
/// Nothing has changed: there is a mistake in the text (`InvalidInput`), or the key may not change (`PermissionDenied`).
pub fn set(settings: &str) -> io::Result<()> {
    let settings = CString::new(settings)?;
    match unsafe { snug_sys::snug_set(settings.as_ptr()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The version of the library, as `"0.1.0"`.
///
/// ```
/// assert!(snug::version().starts_with("0."));
/// ```
pub fn version() -> &'static str {
    text(unsafe { snug_sys::snug_version() })
}

/// Verifies the invariants of the heap, of which other threads' caches are left out. O(heap).
///
/// ```
/// assert_eq!(snug::check(), Ok(()));
/// ```
///
/// # Errors
///
/// The sentence that names the broken invariant: the program has written where it must not, or snug has a bug.
pub fn check() -> Result<(), &'static str> {
    let broken = unsafe { snug_sys::snug_check(0) };
    if broken.is_null() {
        Ok(())
    } else {
        Err(text(broken))
    }
}

/// A key of `SNUG_CONF`, as in force in this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The key's name.
    pub key: &'static str,
    /// What its value counts.
    pub unit: &'static str,
    /// Its value where `SNUG_CONF` has none.
    pub default: String,
    /// Its value in this process.
    pub value: String,
    /// Whether `SNUG_CONF`, or `set`, has set it.
    pub is_set: bool,
    /// One sentence.
    pub help: &'static str,
}

/// All keys of `SNUG_CONF`.
///
/// ```
/// assert!(snug::settings().iter().any(|setting| setting.key == "retain"));
/// ```
pub fn settings() -> Vec<Setting> {
    // The library prints values into memory of its own, one caller at a time.
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock();
    let nothing = core::ptr::null::<c_char>();
    let mut entry = snug_config_entry {
        key: nothing,
        unit: nothing,
        default_value: nothing,
        value: nothing,
        origin: nothing,
        help: nothing,
    };
    let mut all = Vec::new();
    while unsafe { snug_sys::snug_config_get(all.len(), &mut entry) } == 0 {
        all.push(Setting {
            key: text(entry.key),
            unit: text(entry.unit),
            default: text(entry.default_value).to_owned(),
            value: text(entry.value).to_owned(),
            is_set: text(entry.origin) != "default",
            help: text(entry.help),
        });
    }
    all
}

fn text(of_library: *const c_char) -> &'static str {
    // A setting's value may be a path, which is not always UTF-8.
    unsafe { CStr::from_ptr(of_library) }
        .to_str()
        .unwrap_or("?")
}
