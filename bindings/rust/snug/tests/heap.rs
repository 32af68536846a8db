//! Heaps of one's own: what they hand out, what they count, what they refuse, and how they end.

use std::alloc::Layout;
use std::io::ErrorKind;
use std::ptr::NonNull;
use std::thread;

use snug::{Heap, HeapOptions};

fn layout(size: usize, align: usize) -> Layout {
    Layout::from_size_align(size, align).unwrap()
}

fn bytes(block: NonNull<u8>, size: usize) -> &'static mut [u8] {
    unsafe { std::slice::from_raw_parts_mut(block.as_ptr(), size) }
}

#[test]
fn blocks_are_of_the_heap_and_end_with_it() {
    let heap = Heap::new().unwrap();
    for align in [1, 16, 64, 4096, 1 << 20] {
        for size in [0, 1, 100, 5000, 300_000, 3 << 20] {
            let block = heap.alloc(layout(size, align)).unwrap();
            assert_eq!(block.as_ptr() as usize % align, 0);
            assert!(heap.owns(block.as_ptr()));
            bytes(block, size).fill(0xa5);
            let zeroed = heap.alloc_zeroed(layout(size, align)).unwrap();
            assert_eq!(zeroed.as_ptr() as usize % align, 0);
            assert!(bytes(zeroed, size).iter().all(|&byte| byte == 0));
            unsafe { heap.dealloc(block, layout(size, align)) };
        }
    }
    let stats = heap.stats();
    assert_eq!(stats.blocks_in_use, 5 * 6);
    assert!(stats.bytes_in_use >= 5 * (3 << 20) && stats.peak_held >= stats.bytes_held);
    // More than other tests of this process have meanwhile.
    heap.alloc(layout(100 << 20, 8)).unwrap();
    let before = snug::stats().bytes_large;
    drop(heap);
    assert!(snug::stats().bytes_large + (80 << 20) < before);
    assert_eq!(snug::check(), Ok(()));
}

#[test]
fn a_resized_block_keeps_its_contents_alignment_and_heap() {
    let heap = Heap::new().unwrap();
    for align in [1, 64, 8192] {
        let mut size = 50;
        let mut block = heap.alloc(layout(size, align)).unwrap();
        for next in [70, 5000, 400_000, 60, 0, 90] {
            bytes(block, size).fill(7);
            let kept = size.min(next);
            block = unsafe { heap.realloc(block, layout(size, align), next) }.unwrap();
            assert!(heap.owns(block.as_ptr()) && block.as_ptr() as usize % align == 0);
            assert!(bytes(block, kept).iter().all(|&byte| byte == 7));
            size = next;
        }
        unsafe { heap.dealloc(block, layout(size, align)) };
    }
    assert_eq!(heap.stats().blocks_in_use, 0);
}

#[test]
fn an_aligned_block_stays_where_it_fits() {
    let heap = Heap::new().unwrap();
    for align in [32, 64, 4096] {
        for size in [33, 1100, 70_000] {
            let block = heap.alloc(layout(size, align)).unwrap();
            let usable = unsafe { snug::usable_size(block.as_ptr()) };
            let larger = unsafe { heap.realloc(block, layout(size, align), usable) }.unwrap();
            assert_eq!(larger, block);
            unsafe { heap.dealloc(larger, layout(usable, align)) };
            let block = heap.alloc(layout(size, align)).unwrap();
            let smaller =
                unsafe { heap.realloc(block, layout(size, align), usable.div_ceil(2)) }.unwrap();
            assert_eq!(smaller == block, usable > size, "{size} {align}");
            unsafe { heap.dealloc(smaller, layout(usable.div_ceil(2), align)) };
        }
    }
    assert_eq!(heap.stats().blocks_in_use, 0);
}

#[test]
fn a_limit_refuses() {
    let heap = HeapOptions::new().limit(4 << 20).create().unwrap();
    assert!(heap.alloc(layout(5 << 20, 8)).is_none());
    let mut blocks = Vec::new();
    while let Some(block) = heap.alloc(layout(1000, 8)) {
        blocks.push(block);
    }
    assert!(blocks.len() > 3000 && heap.stats().bytes_held <= 4 << 20);
    let last = *blocks.last().unwrap();
    assert!(unsafe { heap.realloc(last, layout(1000, 8), 1 << 20) }.is_none());
    for block in blocks {
        unsafe { heap.dealloc(block, layout(1000, 8)) };
    }
    assert!(heap.trim());
    assert!(heap.alloc(layout(3 << 20, 8)).is_some());
}

#[test]
fn names_are_cut_between_characters() {
    assert_eq!(Heap::new().unwrap().name(), "");
    let long = format!("{}é and more", "x".repeat(30));
    let heap = HeapOptions::new()
        .name(&long)
        .soft_limit(1 << 20)
        .create()
        .unwrap();
    assert_eq!(heap.name(), "x".repeat(30));
    assert_eq!((heap.stats().limit, heap.stats().soft_limit), (0, 1 << 20));
    let error = HeapOptions::new().name("a\0b").create().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
}

#[test]
fn a_heap_that_must_be_empty_is_not_destroyed_before() {
    let heap = HeapOptions::new().must_be_empty(true).create().unwrap();
    let block = heap.alloc(layout(100, 8)).unwrap();
    let heap = heap.destroy().unwrap_err();
    assert!(heap.owns(block.as_ptr()));
    unsafe { heap.dealloc(block, layout(100, 8)) };
    assert!(heap.destroy().is_ok());
    // Dropping one that is in use leaves it alone.
    let heap = HeapOptions::new().must_be_empty(true).create().unwrap();
    let block = heap.alloc(layout(100, 8)).unwrap();
    drop(heap);
    bytes(block, 100).fill(1);
    assert_eq!(snug::check(), Ok(()));
}

#[test]
fn threads_share_a_heap() {
    let heap = Heap::new().unwrap();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for round in 0..20_000 {
                    let wish = layout(1 + round % 700, 8);
                    let block = heap.alloc(wish).unwrap();
                    bytes(block, wish.size()).fill(3);
                    unsafe { heap.dealloc(block, wish) };
                }
            });
        }
    });
    assert_eq!(heap.stats().blocks_in_use, 0);
    thread::spawn(move || drop(heap)).join().unwrap();
    assert_eq!(snug::check(), Ok(()));
}

#[test]
fn a_heap_on_a_node_is_there_or_says_why_not() {
    // Without nodes, with a filter, or in a container that may not have the memory.
    let refused = [
        ErrorKind::InvalidInput,
        ErrorKind::Unsupported,
        ErrorKind::PermissionDenied,
    ];
    match HeapOptions::new().node(0).create() {
        Ok(heap) => {
            let block = heap.alloc(layout(100, 8)).unwrap();
            bytes(block, 100).fill(1);
            unsafe { heap.dealloc(block, layout(100, 8)) };
        }
        Err(error) => assert!(refused.contains(&error.kind()), "{error}"),
    }
    let error = HeapOptions::new().node(1 << 20).create().unwrap_err();
    assert!(refused.contains(&error.kind()), "{error}");
}

#[test]
fn a_heap_in_a_region_lies_there() {
    const UNIT: usize = snug_sys::SNUG_HEAP_REGION_UNIT;
    let memory = layout(64 * UNIT, UNIT);
    let start = NonNull::new(unsafe { std::alloc::alloc(memory) }).unwrap();
    let region = NonNull::slice_from_raw_parts(start, memory.size());
    let heap = unsafe { HeapOptions::new().region(region) }
        .create()
        .unwrap();
    let mut blocks = 0;
    while let Some(block) = heap.alloc(layout(10_000, 16)) {
        let offset = block.as_ptr() as usize - start.as_ptr() as usize;
        assert!(offset + 10_000 <= memory.size());
        blocks += 1;
    }
    assert!(blocks > 80 && heap.stats().limit == memory.size() as u64);
    let taken = unsafe { HeapOptions::new().region(region) }.create();
    assert_eq!(taken.unwrap_err().kind(), ErrorKind::AlreadyExists);
    drop(heap);
    let odd = NonNull::slice_from_raw_parts(start, UNIT + 1);
    let wrong = unsafe { HeapOptions::new().region(odd) }.create();
    assert_eq!(wrong.unwrap_err().kind(), ErrorKind::InvalidInput);
    unsafe { std::alloc::dealloc(start.as_ptr(), memory) };
}
