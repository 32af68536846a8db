//! Snug as the global allocator of a program: every kind of request, many threads, and a fork.

use std::alloc::{alloc, alloc_zeroed, dealloc, realloc, Layout};
use std::sync::mpsc;
use std::thread;

#[global_allocator]
static GLOBAL: snug::Snug = snug::Snug;

const SIZES: [usize; 9] = [1, 8, 24, 100, 1000, 5000, 70_000, 300_000, 40 << 20];

fn layout(size: usize, align: usize) -> Layout {
    Layout::from_size_align(size, align).unwrap()
}

fn alignments() -> impl Iterator<Item = usize> {
    (0..=20).map(|log| 1 << log) // up to 1 MiB
}

/// Writes bytes that tell one place from another.
unsafe fn fill(block: *mut u8, size: usize) {
    for i in (0..size).step_by(97) {
        block.add(i).write(i as u8);
    }
}

unsafe fn is_filled(block: *const u8, size: usize) -> bool {
    (0..size)
        .step_by(97)
        .all(|i| block.add(i).read() == i as u8)
}

#[test]
fn snug_serves() {
    let before = snug::stats().allocations;
    let boxes: Vec<Box<usize>> = (0..1000).map(Box::new).collect();
    assert!(snug::stats().allocations >= before + 1000);
    assert!(unsafe { snug::usable_size((&*boxes[0] as *const usize).cast()) } >= 8);
}

#[test]
fn every_alignment_is_kept_by_blocks_that_are_resized() {
    for align in alignments() {
        for size in SIZES.into_iter().filter(|&size| size <= 300_000) {
            unsafe {
                let block = alloc(layout(size, align));
                assert!(!block.is_null() && block as usize % align == 0);
                fill(block, size);
                let larger = realloc(block, layout(size, align), 3 * size);
                assert!(!larger.is_null() && larger as usize % align == 0);
                assert!(is_filled(larger, size));
                let smaller = realloc(larger, layout(3 * size, align), size.div_ceil(2));
                assert!(smaller as usize % align == 0 && is_filled(smaller, size.div_ceil(2)));
                dealloc(smaller, layout(size.div_ceil(2), align));
            }
        }
    }
}

fn is_checked() -> bool {
    std::env::var("SNUG_CONF").is_ok_and(|settings| settings.contains("check:on"))
}

#[test]
fn an_aligned_block_stays_where_it_fits() {
    // With check:on a block has what was asked for, and moves.
    let is_checked = is_checked();
    let mut have_room = 0;
    for align in [32, 64, 4096] {
        for size in [33, 100, 1100, 5000, 70_000, 300_000] {
            unsafe {
                let block = alloc(layout(size, align));
                let usable = snug::usable_size(block);
                assert!(usable == size || usable > size && !is_checked);
                have_room += usize::from(usable > size);
                fill(block, size);
                // A part of the room, the rest of it, and back to the half.
                let (middle, most) = (usable.max(size + 2) - 1, usable.max(size + 3));
                let least = usable.div_ceil(2);
                let one = realloc(block, layout(size, align), middle);
                let two = realloc(one, layout(middle, align), most);
                assert!(one as usize % align == 0 && two as usize % align == 0);
                assert!(is_filled(two, size));
                if usable > size + 2 {
                    assert_eq!((one, two), (block, block), "{size} {align}");
                }
                dealloc(two, layout(most, align));

                let block = alloc(layout(size, align));
                fill(block, size);
                let smaller = realloc(block, layout(size, align), least);
                assert!(smaller as usize % align == 0 && is_filled(smaller, least.min(size)));
                if usable > size && least < size {
                    assert_eq!(smaller, block, "{size} {align}");
                }
                let small = realloc(smaller, layout(least, align), least / 2);
                assert!(small as usize % align == 0 && is_filled(small, size.min(least / 2)));
                if !is_checked && usable > size {
                    assert_eq!(snug::usable_size(small) < usable, usable > align);
                }
                dealloc(small, layout(least / 2, align));
            }
        }
    }
    assert!(is_checked || have_room > 6);
}

#[test]
fn an_aligned_block_takes_free_pages_behind_it() {
    const MIB: usize = 1 << 20;
    let (short, long) = (layout(MIB, 4096), layout(2 * MIB, 4096));
    let mut blocks: Vec<*mut u8> = (0..16).map(|_| unsafe { alloc(short) }).collect();
    blocks.sort();
    // Pages that one of these leaves another test may take before they are asked for: so there are several.
    let mut stayed = false;
    while let (Some(second), Some(first)) = (blocks.pop(), blocks.pop()) {
        unsafe {
            fill(first, 5000);
            dealloc(second, short);
            let longer = realloc(first, short, 2 * MIB);
            assert!(is_filled(longer, 5000));
            longer.add(2 * MIB - 1).write(1);
            stayed |= longer == first;
            dealloc(longer, long);
        }
    }
    // With check:on no block is made longer.
    assert!(stayed || is_checked());
}

#[test]
fn frees_tell_what_a_checking_process_knows() {
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .arg("align")
        .env("SNUG_CONF", "check:on")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{output:?}");
    assert!(said.contains("3 passed"), "{said}");
}

#[test]
fn zeroed_blocks_are_zero_where_others_were_before() {
    for align in [1, 16, 64, 4096, 1 << 20] {
        for size in SIZES {
            unsafe {
                let dirty = alloc(layout(size, align));
                dirty.write_bytes(0xff, size);
                dealloc(dirty, layout(size, align));
                let clean = alloc_zeroed(layout(size, align));
                assert!(clean as usize % align == 0);
                assert!((0..size)
                    .step_by(1 + size / 50_000)
                    .all(|i| clean.add(i).read() == 0));
                dealloc(clean, layout(size, align));
            }
        }
    }
}

#[test]
fn a_refusal_is_null() {
    let too_long = layout(isize::MAX as usize - 4096, 1);
    unsafe {
        assert!(alloc(too_long).is_null());
        assert!(alloc_zeroed(too_long).is_null());
        let block = alloc(layout(100, 64));
        assert!(realloc(block, layout(100, 64), isize::MAX as usize - 4096).is_null());
        dealloc(block, layout(100, 64));
    }
    assert!(Vec::<u8>::new()
        .try_reserve(isize::MAX as usize - 4096)
        .is_err());
}

#[test]
fn threads_free_what_others_have_allocated() {
    let (give, take) = mpsc::channel::<Vec<String>>();
    let givers: Vec<_> = (0..4)
        .map(|giver| {
            let give = give.clone();
            thread::spawn(move || {
                for round in 0..200 {
                    let texts = (0..50)
                        .map(|i| format!("{giver} {round} {}", "x".repeat(i * 7)))
                        .collect();
                    give.send(texts).unwrap();
                }
            })
        })
        .collect();
    drop(give);
    let count: usize = take.iter().map(|texts| texts.len()).sum();
    assert_eq!(count, 4 * 200 * 50);
    for giver in givers {
        giver.join().unwrap();
    }
    assert_eq!(snug::check(), Ok(()));
}

#[test]
fn threads_come_and_go() {
    for _ in 0..50 {
        let threads: Vec<_> = (0..4)
            .map(|i| thread::spawn(move || vec![i; 10_000].iter().sum::<usize>()))
            .collect();
        for (i, thread) in threads.into_iter().enumerate() {
            assert_eq!(thread.join().unwrap(), i * 10_000);
        }
    }
}

#[test]
fn batches_are_blocks() {
    let mut blocks = snug::Blocks::new(64, 1000);
    assert_eq!(
        (blocks.len(), blocks.size(), blocks.is_empty()),
        (1000, 64, false)
    );
    for i in 0..blocks.len() {
        assert!(blocks
            .get_mut(i)
            .unwrap()
            .iter_mut()
            .map(|byte| *byte.write(7))
            .all(|byte| byte == 7));
    }
    assert!(blocks.get_mut(1000).is_none());
    let one = blocks.pop().unwrap().as_ptr();
    let other = unsafe { alloc(layout(5000, 4096)) };
    unsafe { snug::Blocks::free_all(&[one, std::ptr::null_mut(), other]) };
    assert!(snug::Blocks::new(usize::MAX / 2, 3).is_empty());
}

#[test]
fn what_is_free_goes_back() {
    // So that none of it goes by its age, before the test looks.
    snug::set("purge_after:86400000").unwrap();
    let blocks: Vec<Vec<u8>> = (0..2000).map(|_| vec![1; 4000]).collect();
    drop(blocks);
    let before = snug::stats().bytes_purged;
    assert!(snug::trim(0));
    assert!(snug::stats().bytes_purged > before);
    let memory = snug::memory().expect("/proc is there");
    assert!(memory.rss >= memory.requested);
    snug::purge();
}

#[test]
fn settings_have_names() {
    let settings = snug::settings();
    assert!(settings
        .iter()
        .all(|setting| !setting.key.is_empty() && !setting.help.is_empty()));
    assert!(settings.iter().any(|setting| setting.key == "retain"));
}

#[test]
fn a_forked_child_allocates() {
    let before = vec![5_u8; 100_000];
    let child = unsafe { libc::fork() };
    if child == 0 {
        let texts: Vec<String> = (0..1000).map(|i| i.to_string()).collect();
        drop(before);
        let fine = texts[999] == "999" && snug::check().is_ok();
        unsafe { libc::_exit(if fine { 0 } else { 1 }) };
    }
    let mut status = -1;
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert_eq!(status, 0);
    assert_eq!(before[99_999], 5);
}
