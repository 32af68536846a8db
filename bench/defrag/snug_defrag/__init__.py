"""Redis that defragments, on snug and on its own jemalloc: bench/defrag/README.md."""
