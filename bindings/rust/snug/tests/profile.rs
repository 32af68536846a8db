//! The sampled profile and its sampler. One test: the profile is the process's.

use std::fs::File;
use std::io::ErrorKind;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;

use snug::profile::{self, Format, Sample, Sampler};

#[global_allocator]
static GLOBAL: snug::Snug = snug::Snug;

/// Estimated live bytes; each tag is a number of them.
struct Live(AtomicU64);

impl Sampler for Live {
    fn sampled(&self, sample: &Sample) -> u64 {
        drop(vec![1_u8; 100]); // a sampler may allocate
        assert!(!sample.block.is_null() && sample.weight >= 1.0);
        let bytes = sample.bytes() as u64;
        self.0.fetch_add(bytes, Relaxed);
        bytes
    }

    fn freed(&self, tag: u64) {
        self.0.fetch_sub(tag, Relaxed);
    }
}

static LIVE: Live = Live(AtomicU64::new(0));

#[test]
fn a_sampler_is_told_of_blocks_and_of_their_frees() {
    let null = File::create("/dev/null").unwrap();
    assert!(profile::write(&null, Format::Pprof).is_err()); // never started
    assert_eq!(profile::distance(), None);
    assert_eq!(
        profile::start(7).unwrap_err().kind(),
        ErrorKind::InvalidInput
    );
    profile::set_sampler(&LIVE);
    profile::start(4096).unwrap();
    assert_eq!(profile::distance(), Some(4096));
    let blocks: Vec<Vec<u8>> = (0..4000).map(|_| vec![1_u8; 10_000]).collect();
    let live = LIVE.0.load(Relaxed) as f64;
    assert!((live / 40e6 - 1.0).abs() < 0.2, "{live}");
    profile::write(&null, Format::Collapsed).unwrap();
    profile::stop();
    assert_eq!(profile::distance(), None);
    thread::spawn(move || drop(blocks)).join().unwrap(); // by another thread
    assert!(LIVE.0.load(Relaxed) < 400_000);
    profile::start(4096).unwrap();
    profile::clear_sampler();
    let before = LIVE.0.load(Relaxed);
    drop(vec![1_u8; 10 << 20]);
    assert_eq!(LIVE.0.load(Relaxed), before);
    profile::stop();
}
