// A C++ program on snug's C headers. Where it is to be compiled by a certain standard, by no other.
#include <snug/cell_heap_c.h>
#include <snug/heap.h>
#include <snug/limits.h>
#include <snug/realtime.h>
#include <snug/snug.h>

#ifdef STANDARD
static_assert(__cplusplus == STANDARD, "the target that it is linked to has changed its standard");
#endif

int main() { return 0; }
