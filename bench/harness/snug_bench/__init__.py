"""snug-bench: any memory allocators, on any loads, compared honestly. docs/benchmarking.md says how to read it."""
