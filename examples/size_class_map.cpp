// A size-class map of one's own, fixed when compiled, and what a block of it wastes.
#include <cstddef>
#include <cstdio>
#include <initializer_list>

#include "snug/size_class_map.h"

// 8 classes a doubling from 256 bytes to 16 KiB; a thread caches at most 32 blocks or 4 KiB of a class.
using Map = snug::SizeClassMap<4, 4, 8, 14, 32, 12>;
static_assert(snug::is_tight_and_monotonic<Map>() && Map::class_of(300) == 18 && Map::size(18) == 320);

int main() {
  for (const std::size_t asked : {24, 300, 5000}) {
    const snug::SizeClassRow row = Map::row(Map::class_of(asked));
    std::printf("%4zu B: class %2zu of %4zu B, %3zu B unused, at most %2zu cached\n", asked, row.size_class, row.size,
                row.size - asked, row.cached);
  }
}
