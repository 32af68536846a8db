//! Limits and callbacks. One test: the limits are the process's.

use std::alloc::{alloc, dealloc, Layout};
use std::io::ErrorKind;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use snug::{HeapOptions, Levels, OnPressure};

#[global_allocator]
static GLOBAL: snug::Snug = snug::Snug;

/// Says by its end that the closure which had it is gone.
struct Witness(Arc<AtomicUsize>);

impl Drop for Witness {
    fn drop(&mut self) {
        self.0.fetch_add(1, Relaxed);
    }
}

#[test]
fn callbacks_free_memory_before_a_request_fails() {
    let wish = Layout::from_size_align(8 << 20, 8).unwrap();
    let gone = Arc::new(AtomicUsize::new(0));
    let calls = Arc::new(AtomicUsize::new(0));
    assert_eq!(snug::limits().limit, 0);
    assert_eq!(
        snug::set("limit:nonsense").unwrap_err().kind(),
        ErrorKind::InvalidInput
    );
    assert_eq!(
        snug::set("check:on").unwrap_err().kind(),
        ErrorKind::PermissionDenied
    );
    assert_eq!(
        snug::set("a\0b").unwrap_err().kind(),
        ErrorKind::InvalidInput
    );

    // A cache that gives way. What was seen is judged once the limit is off again: a test that fails takes memory.
    let cache = Arc::new(Mutex::new(vec![vec![1_u8; 8 << 20]; 4]));
    let odd = Arc::new(AtomicUsize::new(0));
    let callback = {
        let (cache, calls, odd) = (cache.clone(), calls.clone(), odd.clone());
        let witness = Witness(gone.clone());
        snug::on_pressure(Levels::HARD, move |pressure| {
            let _ = &witness;
            calls.fetch_add(1, Relaxed);
            let is_as_told = pressure.level() == Levels::HARD
                && pressure.is_of_process()
                && pressure.wanted() != 0
                && pressure.limit() == Some(40 << 20)
                && pressure.held() != 0;
            odd.fetch_add(usize::from(!is_as_told), Relaxed);
            cache
                .try_lock()
                .is_ok_and(|mut cache| cache.pop().is_some())
        })
        .unwrap()
    };
    let mut blocks = [std::ptr::null_mut::<u8>(); 8];
    snug::set("limit:40M").unwrap();
    for block in &mut blocks[..4] {
        *block = unsafe { alloc(wish) };
    }
    let first = snug::limits();
    for block in &mut blocks[4..] {
        *block = unsafe { alloc(wish) };
    }
    let second = snug::limits();
    snug::set("limit:off").unwrap();
    assert!(blocks[..4].iter().all(|block| !block.is_null()));
    assert_eq!((first.limit, first.refused), (40 << 20, 0));
    assert!(first.asked >= 3 && calls.load(Relaxed) as u64 == second.asked);
    assert!(blocks[7].is_null() && second.refused > 0);
    assert!(cache.lock().unwrap().is_empty());
    assert_eq!((odd.load(Relaxed), gone.load(Relaxed)), (0, 0));
    for block in blocks.into_iter().filter(|block| !block.is_null()) {
        unsafe { dealloc(block, wish) };
    }
    drop(callback);
    assert_eq!(gone.load(Relaxed), 1);
    let before = calls.load(Relaxed);
    snug::set("limit:40M").unwrap();
    let large = Layout::from_size_align(25 << 20, 8).unwrap();
    let (one, other) = unsafe { (alloc(large), alloc(large)) };
    snug::set("limit:off").unwrap();
    assert!(!one.is_null() && other.is_null());
    assert_eq!(calls.load(Relaxed), before);
    unsafe { dealloc(one, large) };

    // Of a heap.
    let heap = HeapOptions::new().limit(1 << 20).create().unwrap();
    let address = heap.alloc(Layout::new::<u64>()).unwrap().as_ptr() as usize;
    let seen = Arc::new(AtomicUsize::new(0));
    let heap = Arc::new(heap);
    let callback = {
        let (heap, seen) = (heap.clone(), seen.clone());
        snug::on_pressure(Levels::ALL, move |pressure| {
            if pressure.is_of(&heap) && !pressure.is_of_process() {
                seen.fetch_add(1, Relaxed);
            }
            false
        })
        .unwrap()
    };
    // What exceeds the limit by itself is refused whatever is freed, and asks nobody.
    assert!(heap
        .alloc(Layout::from_size_align(2 << 20, 8).unwrap())
        .is_none());
    assert_eq!(seen.load(Relaxed), 0);
    let most = Layout::from_size_align(768 << 10, 8).unwrap();
    assert!(heap.alloc(most).is_some());
    assert!(heap.alloc(most).is_none());
    assert_eq!(seen.load(Relaxed), 1);
    assert!(heap.owns(address as *const u8));
    drop(callback);

    // A closure that drops what keeps it goes on to its end, and goes with the next that is dropped elsewhere.
    let keeps: Arc<Mutex<Option<OnPressure>>> = Arc::default();
    {
        let (within, calls, witness) = (keeps.clone(), calls.clone(), Witness(gone.clone()));
        let callback = snug::on_pressure(Levels::HARD, move |_| {
            drop(within.lock().unwrap().take());
            assert_eq!(witness.0.load(Relaxed), 1);
            calls.fetch_add(1, Relaxed);
            false
        });
        *keeps.lock().unwrap() = Some(callback.unwrap());
    }
    let before = calls.load(Relaxed);
    for _ in 0..2 {
        assert!(heap.alloc(most).is_none());
    }
    assert_eq!(calls.load(Relaxed), before + 1);
    assert_eq!(gone.load(Relaxed), 1);
    drop(snug::on_pressure(Levels::SOFT, |_| false).unwrap());
    assert_eq!(gone.load(Relaxed), 2);

    // Sixteen, and no more.
    let mut callbacks = Vec::new();
    let refused = loop {
        match snug::on_pressure(Levels::SOFT, |_| false) {
            Ok(callback) => callbacks.push(callback),
            Err(error) => break error,
        }
    };
    assert_eq!(
        (callbacks.len(), refused.raw_os_error()),
        (16, Some(libc::ENOSPC))
    );
    drop(callbacks);
    assert!(snug::on_pressure(Levels::SOFT, |_| false).is_ok());
    assert_eq!(snug::check(), Ok(()));
}
