//! Which code, and which task, holds a program's memory: writes a profile for `go tool pprof`, and says how much is live of what
//! each task has allocated. Frame pointers show whole stacks,
//! and line tables name functions for pprof:
//! `RUSTFLAGS=-Cforce-frame-pointers=yes CARGO_PROFILE_RELEASE_DEBUG=line-tables-only cargo run --release --example profile heap.pb`.

use std::cell::Cell;
use std::env::args_os;
use std::error::Error;
use std::fs::File;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;

use snug::profile::{self, Format, Sample, Sampler};

#[global_allocator]
static GLOBAL: snug::Snug = snug::Snug;

const TASKS: [&str; 3] = ["main", "reader", "indexer"];

thread_local! {
    /// The task that the thread is at. Without a destructor and with a constant at its beginning: the sampler, which runs inside
    /// of `malloc`, can always read it.
    static TASK: Cell<usize> = const { Cell::new(0) };
}

/// Live bytes by task. What it shares is changed by atomics alone: nothing to wait for.
struct LiveByTask([AtomicU64; TASKS.len()]);

impl Sampler for LiveByTask {
    /// The tag has the task in its last two bits, and in the others the bytes: nothing is looked up at the free.
    fn sampled(&self, sample: &Sample) -> u64 {
        let task = TASK.get();
        let bytes = sample.bytes() as u64;
        self.0[task].fetch_add(bytes, Relaxed);
        bytes << 2 | task as u64
    }

    fn freed(&self, tag: u64) {
        self.0[(tag & 3) as usize].fetch_sub(tag >> 2, Relaxed);
    }
}

// A constant with a name: Rust has those without since 1.79.
#[allow(clippy::declare_interior_mutable_const)]
const NOTHING: AtomicU64 = AtomicU64::new(0);
static LIVE: LiveByTask = LiveByTask([NOTHING; TASKS.len()]);

#[inline(never)]
fn read_all() -> Vec<Vec<u8>> {
    TASK.set(1);
    (0..32 << 10).map(|i| vec![i as u8; 1000]).collect()
}

#[inline(never)]
fn index() -> Vec<String> {
    TASK.set(2);
    for i in 0..100_000 {
        drop(format!("{i:500}")); // 50 MB that are gone at once
    }
    (0..16 << 10).map(|i| format!("{i:1000}")).collect()
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = args_os().nth(1).ok_or("usage: profile FILE")?;
    profile::set_sampler(&LIVE);
    profile::start(64 << 10)?;
    let reader = thread::spawn(read_all);
    let indexer = thread::spawn(index);
    let (texts, words) = (reader.join().unwrap(), indexer.join().unwrap());
    profile::write(&File::create(&path)?, Format::Pprof)?;
    for (task, live) in TASKS.iter().zip(&LIVE.0) {
        println!("{task}: {:.1} MB live", live.load(Relaxed) as f64 / 1e6);
    }
    drop((texts, words));
    let left: u64 = LIVE.0.iter().map(|live| live.load(Relaxed)).sum();
    println!("in the end: {:.1} MB live", left as f64 / 1e6);
    Ok(())
}
