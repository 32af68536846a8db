// A program of nothing but the precompiled headers that the others of this folder read.
int main() { return 0; }
