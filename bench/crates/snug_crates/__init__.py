"""Programs of real Rust crates on allocators that are linked as crates: bench/crates/README.md."""
