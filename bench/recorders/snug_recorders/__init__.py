"""What recording a program's memory costs, by snug, heaptrack and memray: bench/recorders/README.md."""
