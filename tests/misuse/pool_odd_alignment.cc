/* EXPECT abort: snug: Pool\{48, 24\}::Pool\({address}\): the alignment is not a power of two
 * pool_odd_alignment.cc: an untyped pool is asked for an alignment that no address can have. */
#define SNUG_POOL_CHECKS 1
#include <snug/pool.h>

#include <new>

#include "misuse.h"

alignas(snug::Pool<>) static unsigned char place[sizeof(snug::Pool<>)];

int main() {
  announce(place);
  ::new (place) snug::Pool<>(48, 24);
  return 0;
}
