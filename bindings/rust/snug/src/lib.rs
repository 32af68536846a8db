#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod blocks;
mod global;
mod state;

pub use blocks::Blocks;
pub use global::{usable_size, Snug};
pub use snug_sys::{snug_memory as Memory, snug_stats as Stats};
pub use state::{check, memory, purge, settings, stats, trim, version, Setting};
