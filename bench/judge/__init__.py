"""What bench/matrix is made of: the loads, a comparison on several allocators, the verdict on it, and the tables."""
