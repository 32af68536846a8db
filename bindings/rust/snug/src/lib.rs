#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod blocks;
mod global;
mod heap;
mod limits;
pub mod profile;
mod state;

pub use blocks::Blocks;
pub use global::{usable_size, Snug};
pub use heap::{Heap, HeapOptions};
pub use limits::{limits, on_pressure, Levels, OnPressure, Pressure};
pub use snug_sys::{
    snug_heap_stats as HeapStats, snug_limits as Limits, snug_memory as Memory, snug_stats as Stats,
};
pub use state::{check, memory, purge, purge_some, set, settings, stats, trim, version, Setting};
