#include "trace_command/hummingbird.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "text/user_error.h"

namespace snug::tool {

namespace {

using trace::BlockId;

constexpr std::uint64_t kSmallestData = 129;  // larger than any metadata
constexpr unsigned kPiecesOfMetadata = 4;

struct MetadataSize {
  std::uint64_t bytes;
  double share;  // of the pieces
};
constexpr MetadataSize kMetadataSizes[] = {{24, 0.30}, {32, 0.15}, {40, 0.10}, {56, 0.15}, {72, 0.20}, {104, 0.10}};

// splitmix64: the same numbers wherever it runs.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  double below_one() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  std::size_t below(std::size_t bound) { return static_cast<std::size_t>(below_one() * static_cast<double>(bound)); }

 private:
  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15ull;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  std::uint64_t state_;
};

// Sizes from kSmallestData up to below a cluster; the frequency of a size is (size - 128) ^ -exponent: it falls with
// the rank among all sizes, the shortest being the first.
class DataSizes {
 public:
  explicit DataSizes(double exponent) {
    double sum = 0;
    for (std::uint64_t size = kSmallestData; size < Hummingbird::kCluster; ++size) {
      sum += std::pow(static_cast<double>(size - kSmallestData + 1), -exponent);
      up_to_.push_back(sum);
    }
  }
  std::uint64_t draw(Random& random) const {
    const double at = random.below_one() * up_to_.back();
    const auto above = std::upper_bound(up_to_.begin(), up_to_.end() - 1, at);
    return kSmallestData + static_cast<std::uint64_t>(above - up_to_.begin());
  }

 private:
  std::vector<double> up_to_;
};

// Blocks of one kind, up to a number of bytes: live_ == sum of the blocks' bytes <= most_, but for one longer than all.
class Cache {
 public:
  explicit Cache(double most) : most_(static_cast<std::uint64_t>(most)) {}

  void add(std::uint64_t bytes, SynthesisedBlocks& blocks, Random& random) {
    while (live_ + bytes > most_ && !blocks_.empty()) evict(blocks, random);
    blocks_.push_back({blocks.allocate(bytes), bytes});
    live_ += bytes;
  }

 private:
  struct Block {
    BlockId id;
    std::uint64_t bytes;
  };

  // The hand goes round over the blocks: what it meets is about the oldest, since the last block fills each gap.
  void evict(SynthesisedBlocks& blocks, Random& random) {
    if (hand_ >= blocks_.size()) hand_ = 0;
    const std::size_t victim = random.below_one() < 0.5 ? hand_++ : random.below(blocks_.size());
    blocks.free(blocks_[victim].id);
    live_ -= blocks_[victim].bytes;
    blocks_[victim] = blocks_.back();
    blocks_.pop_back();
  }

  const std::uint64_t most_;
  std::uint64_t live_ = 0;
  std::size_t hand_ = 0;
  std::vector<Block> blocks_;
};

std::uint64_t draw_metadata(Random& random) {
  double at = random.below_one();
  for (const MetadataSize& each : kMetadataSizes) {
    if (at < each.share) return each.bytes;
    at -= each.share;
  }
  return kMetadataSizes[0].bytes;
}

double share_of_data(const Hummingbird& wanted) {
  return 1 - wanted.clusters - wanted.metadata - static_cast<double>(wanted.table) / static_cast<double>(wanted.live);
}

}  // namespace

void expect_possible(const Hummingbird& wanted) {
  if (share_of_data(wanted) <= 0)
    throw UserError("the table, the clusters and the metadata leave nothing of the live bytes for data");
}

void synthesise(const Hummingbird& wanted, SynthesisedBlocks& blocks) {
  const auto live = static_cast<double>(wanted.live);
  Random random(wanted.seed);
  const DataSizes sizes(wanted.exponent);
  Cache clusters(live * wanted.clusters);
  Cache metadata(live * wanted.metadata);
  Cache data(live * share_of_data(wanted));
  if (wanted.table != 0) blocks.allocate(wanted.table);
  while (blocks.events() < wanted.events) {
    for (unsigned piece = 0; piece < kPiecesOfMetadata; ++piece) metadata.add(draw_metadata(random), blocks, random);
    data.add(sizes.draw(random), blocks, random);
    if (random.below_one() < wanted.reads) clusters.add(Hummingbird::kCluster, blocks, random);
  }
}

}  // namespace snug::tool
