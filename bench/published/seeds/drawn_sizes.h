// DrawnSizes: what a thread takes from several pools, each with elements of its own size; chance decides of which pool
// the next element is. A family has make<Element>() and unmake<Element>(), which threads share; every family is called
// through the same branches, so that what they cost is the same for all.
#pragma once

#include "list_node.h"
#include "workload.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace seeds {

struct DrawnNode : ListNode {
  size_t kind;
};

template <size_t kBytes>
struct SizedNode : DrawnNode {
  char rest[kBytes - sizeof(DrawnNode)];
};

// Each pool of a family has a kind of these; Of is what holds one of each, as a tuple of pools.
template <template <class...> class Of, template <class> class Each>
using OfEachKind = Of<Each<SizedNode<32>>, Each<SizedNode<48>>, Each<SizedNode<64>>, Each<SizedNode<96>>>;
constexpr size_t kKinds = 4;

template <class Family>
class DrawnSizes {
 public:
  DrawnSizes(Family& family, uint64_t seed) : family_(family) {
    workload::Random random(seed);
    for (uint8_t& kind : kinds_) kind = static_cast<uint8_t>(random.below(kKinds));
  }

  ListNode* make() {
    const size_t kind = kinds_[next_++ % kinds_.size()];
    DrawnNode* const node = make_of(kind);
    node->kind = kind;
    return node;
  }
  void unmake(ListNode* node) {
    auto* const drawn = static_cast<DrawnNode*>(node);
    switch (drawn->kind) {
      case 0:
        return unmake_as<32>(drawn);
      case 1:
        return unmake_as<48>(drawn);
      case 2:
        return unmake_as<64>(drawn);
      default:
        return unmake_as<96>(drawn);
    }
  }

 private:
  DrawnNode* make_of(size_t kind) {
    switch (kind) {
      case 0:
        return family_.template make<SizedNode<32>>();
      case 1:
        return family_.template make<SizedNode<48>>();
      case 2:
        return family_.template make<SizedNode<64>>();
      default:
        return family_.template make<SizedNode<96>>();
    }
  }
  template <size_t kBytes>
  void unmake_as(DrawnNode* node) {
    family_.unmake(static_cast<SizedNode<kBytes>*>(node));
  }

  Family& family_;
  size_t next_ = 0;
  std::array<uint8_t, 4096> kinds_;  // drawn before the clock runs
};

}  // namespace seeds
