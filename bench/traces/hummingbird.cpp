// hummingbird: a trace in the manner of Hummingbird, a file system for caching web proxies, whose own trace is not
// available. Bohra and Gabber ("Are Mallocs Free of Fragmentation?", FREENIX 2001) say of it: 58 million events of 4.8
// million requests; about 217 MB live all the time, the largest object 39.9 MB; below 128 bytes only a few fixed sizes,
// of metadata; above, frequencies that fall with the size in a straight line in logarithmic scale (Zipf, exponent near
// 1), with no size more frequent than others but 32 KB, the cluster, which is more than half of all bytes allocated.
//
// What they do not say is assumed here, and is a parameter below:
//   - the sizes and shares of metadata; that a file has four pieces of it
//   - what of the live bytes are clusters, files' data and metadata
//   - one request in four reads a cluster; data blocks are shorter than a cluster (longer files lie in clusters)
//   - who is thrown out of a full cache: in half of the cases the oldest, else one by chance. Data, metadata and
//   clusters
//     have caches of their own, so that a file's metadata outlives its data
// bench/snug_seeds/trace_profile.py measures a trace against what was published.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include "seed_command.h"

namespace seeds {

const char* const kProgramName = "hummingbird";

namespace {

constexpr const char* kHelp = R"(usage: hummingbird [--OPTION VALUE]... > TRACE

Writes an allocation trace in the manner of Hummingbird, a file system for caching web proxies: a few fixed sizes of
metadata below 128 B, Zipf's frequencies of the sizes of files' data above, clusters of 32 KiB as more than half of all
bytes, one table. The same options give the same trace. Lines: a<TAB>key<TAB>bytes, f<TAB>key.

  --events N       lines, about (default 4000000; the original had 58 million)
  --live BYTES     live when the caches are full (default 217400000)
  --table BYTES    of the largest block, which lives from the start on (default 39900000)
  --clusters X     share of the live bytes that are clusters (default 0.55)
  --metadata X     share of the live bytes that is metadata (default 0.10); what is left is files' data
  --reads X        requests that read a cluster (default 0.25)
  --exponent X     of the frequencies of data's sizes (default 1.0)
  --seed N         (default 1)
)";

constexpr uint32_t kCluster = 32 << 10;
constexpr uint32_t kSmallestData = 129;  // larger than any metadata
constexpr unsigned kPiecesOfMetadata = 4;

struct Parameters {
  uint64_t events = 4'000'000;
  uint64_t live = 217'400'000;
  uint64_t table = 39'900'000;
  double clusters = 0.55;
  double metadata = 0.10;
  double reads = 0.25;
  double exponent = 1.0;
  uint64_t seed = 1;
};

struct MetadataSize {
  uint32_t bytes;
  double share;  // of the pieces
};
constexpr MetadataSize kMetadataSizes[] = {{24, 0.30}, {32, 0.15}, {40, 0.10}, {56, 0.15}, {72, 0.20}, {104, 0.10}};

// splitmix64: the same numbers wherever it runs.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  double below_one() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  size_t below(size_t bound) { return static_cast<size_t>(below_one() * static_cast<double>(bound)); }

 private:
  uint64_t next() {
    state_ += 0x9e3779b97f4a7c15ull;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  uint64_t state_;
};

// Sizes from kSmallestData up to below a cluster; the frequency of a size is (size - 128) ^ -exponent: it falls with
// the rank among all sizes, the shortest being the first.
class DataSizes {
 public:
  explicit DataSizes(double exponent) {
    double sum = 0;
    for (uint32_t size = kSmallestData; size < kCluster; ++size) {
      sum += std::pow(static_cast<double>(size - kSmallestData + 1), -exponent);
      up_to_.push_back(sum);
    }
  }
  uint32_t draw(Random& random) const {
    const double at = random.below_one() * up_to_.back();
    size_t low = 0;
    for (size_t high = up_to_.size() - 1; low < high;) {
      const size_t middle = (low + high) / 2;
      if (up_to_[middle] > at)
        high = middle;
      else
        low = middle + 1;
    }
    return kSmallestData + static_cast<uint32_t>(low);
  }

 private:
  std::vector<double> up_to_;
};

class TraceWriter {
 public:
  uint64_t allocate(uint32_t bytes) {
    std::printf("a\t%llx\t%u\n", static_cast<unsigned long long>(++key_), bytes);
    ++events_;
    return key_;
  }
  void free(uint64_t key) {
    std::printf("f\t%llx\n", static_cast<unsigned long long>(key));
    ++events_;
  }
  uint64_t events() const { return events_; }

 private:
  uint64_t key_ = 0;
  uint64_t events_ = 0;
};

// Blocks of one kind, up to a number of bytes: live_ == sum of the blocks' bytes <= most_, but for one longer than all.
class Cache {
 public:
  explicit Cache(double most) : most_(static_cast<uint64_t>(most)) {}

  void add(uint32_t bytes, TraceWriter& trace, Random& random) {
    while (live_ + bytes > most_ && !blocks_.empty()) evict(trace, random);
    blocks_.push_back({trace.allocate(bytes), bytes});
    live_ += bytes;
  }

 private:
  struct Block {
    uint64_t key;
    uint32_t bytes;
  };

  // The hand goes round over the blocks: what it meets is about the oldest, since the last block fills each gap.
  void evict(TraceWriter& trace, Random& random) {
    if (hand_ >= blocks_.size()) hand_ = 0;
    const size_t victim = random.below_one() < 0.5 ? hand_++ : random.below(blocks_.size());
    trace.free(blocks_[victim].key);
    live_ -= blocks_[victim].bytes;
    blocks_[victim] = blocks_.back();
    blocks_.pop_back();
  }

  const uint64_t most_;
  uint64_t live_ = 0;
  size_t hand_ = 0;
  std::vector<Block> blocks_;
};

uint32_t draw_metadata(Random& random) {
  double at = random.below_one();
  for (const MetadataSize& each : kMetadataSizes) {
    if (at < each.share) return each.bytes;
    at -= each.share;
  }
  return kMetadataSizes[0].bytes;
}

void write_trace(const Parameters& wanted) {
  const auto live = static_cast<double>(wanted.live);
  const double data_share = 1 - wanted.clusters - wanted.metadata - static_cast<double>(wanted.table) / live;
  if (data_share <= 0) refuse("the table, the clusters and the metadata leave nothing of the live bytes for data");
  Random random(wanted.seed);
  const DataSizes sizes(wanted.exponent);
  Cache clusters(live * wanted.clusters), metadata(live * wanted.metadata), data(live * data_share);
  TraceWriter trace;
  if (wanted.table != 0) trace.allocate(static_cast<uint32_t>(wanted.table));
  while (trace.events() < wanted.events) {
    for (unsigned piece = 0; piece < kPiecesOfMetadata; ++piece) metadata.add(draw_metadata(random), trace, random);
    data.add(sizes.draw(random), trace, random);
    if (random.below_one() < wanted.reads) clusters.add(kCluster, trace, random);
  }
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) fail("cannot write the trace");
}

Parameters parse(int argc, char** argv) {
  Parameters wanted;
  for_each_argument(argc, argv, kHelp, [&](const std::string& word, auto next) {
    if (word == "--events")
      wanted.events = number(word, next(), 1, uint64_t{1} << 28);
    else if (word == "--live")
      wanted.live = number(word, next(), kCluster, uint64_t{1} << 40);
    else if (word == "--table")
      wanted.table = number(word, next(), 0, uint64_t{1} << 31);
    else if (word == "--clusters")
      wanted.clusters = fraction(word, next());
    else if (word == "--metadata")
      wanted.metadata = fraction(word, next());
    else if (word == "--reads")
      wanted.reads = fraction(word, next());
    else if (word == "--exponent")
      wanted.exponent = fraction(word, next());
    else if (word == "--seed")
      wanted.seed = number(word, next(), 0, UINT64_MAX);
    else
      refuse("unknown option '" + word + "'");
  });
  return wanted;
}

}  // namespace
}  // namespace seeds

int main(int argc, char** argv) { seeds::write_trace(seeds::parse(argc, argv)); }
