"""Heaps of one's own beside those of others: bench/heaps/README.md."""
