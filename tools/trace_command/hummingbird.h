// Hummingbird: a profile of a program, of which traces are synthesised. It was a file system for caching web proxies;
// its own trace is not available. Bohra and Gabber ("Are Mallocs Free of Fragmentation?", FREENIX 2001) say of it: 58
// million events of 4.8 million requests; about 217 MB live all the time, the largest object 39.9 MB; below 128 bytes
// only a few fixed sizes, of metadata; above, frequencies that fall with the size in a straight line in logarithmic
// scale (Zipf, exponent near 1), with no size more frequent than others but 32 KB, the cluster, which is more than half
// of all bytes allocated.
//
// What they do not say is assumed here, and is a parameter or a constant:
//   - the sizes and shares of metadata; that a file has four pieces of it
//   - what of the live bytes are clusters, files' data and metadata
//   - one request in four reads a cluster; data blocks are shorter than a cluster (longer files lie in clusters)
//   - what a full cache evicts: in half of the cases the oldest entry, else a random one. Data, metadata and clusters
//     have caches of their own, so that a file's metadata outlives its data
//
// bench/published/snug_seeds/trace_profile.py measures a trace against what was published.
#pragma once

#include <cstdint>

#include "trace_command/synthesised_blocks.h"

namespace snug::tool {

struct Hummingbird {
  static constexpr std::uint64_t kCluster = 32 << 10;

  std::uint64_t events = 4'000'000;  // about
  std::uint64_t live = 217'400'000;  // bytes, when the caches are full
  std::uint64_t table = 39'900'000;  // bytes of the largest block, which lives from the start on; 0: none
  double clusters = 0.55;            // share of the live bytes
  double metadata = 0.10;            // share of the live bytes
  double reads = 0.25;               // share of the requests that read a cluster
  double exponent = 1.0;             // of the frequencies of data's sizes
  std::uint64_t seed = 1;
};

// Throws UserError if the shares leave nothing for data.
void expect_possible(const Hummingbird& wanted);

// The same parameters give the same events, in memory that grows with the live blocks alone.
void synthesise(const Hummingbird& wanted, SynthesisedBlocks& blocks);

}  // namespace snug::tool
