/* EXPECT abort: snug: Pool\{48, 24\}::Pool\({address}\): the alignment is not a power of two
 * pool_odd_alignment.cc: an untyped pool is asked for an alignment that no address can have. */
#include <snug/pool.h>

#include <new>

#include "misuse.h"

using CheckedPool = snug::Pool<void, snug::SingleThread, snug::Checked>;
alignas(CheckedPool) static unsigned char place[sizeof(CheckedPool)];

int main() {
  announce(place);
  ::new (place) CheckedPool(48, 24);
  return 0;
}
