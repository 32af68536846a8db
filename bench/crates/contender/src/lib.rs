//! The allocator of every program here, by this package's feature. A program says `extern crate contender;`.

#[cfg(any(feature = "mimalloc", feature = "mimalloc2"))]
#[global_allocator]
static GLOBAL: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[cfg(feature = "jemalloc")]
#[global_allocator]
static GLOBAL: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

#[cfg(feature = "snug")]
#[global_allocator]
static GLOBAL: snug::Snug = snug::Snug;
