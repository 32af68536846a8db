// tree_building: builds a tree that stays, then perfect binary trees of growing depth that are walked and freed at
// once, top down and bottom up. Stresses short-lived blocks of one size in numbers that leave every cache, and locality
// of what was allocated together. Resembles binary-trees of the Benchmarks Game, and GCBench.
#include "workload.h"

namespace workload {
namespace {

constexpr unsigned kStayingDepth = 15;
constexpr unsigned kDepths[] = {4, 8, 12, 16};
constexpr size_t kSmallestNode = 32;  // a node, and a byte at its end

struct Node {
  Node* left;
  Node* right;
  uint64_t number;  // as in a heap: the root's is 1, a child's twice its parent's and 0 or 1 more
};

enum class Order { kParentFirst, kChildrenFirst };

Node* make(uint64_t number, size_t size) {
  auto* const node = static_cast<Node*>(std::malloc(size));
  if (node == nullptr) fail("out of memory");
  *node = {nullptr, nullptr, number};
  static_cast<char*>(static_cast<void*>(node))[size - 1] = static_cast<char>(number);
  return node;
}

Node* build(unsigned depth, uint64_t number, size_t size, Order order) {
  Node* node = order == Order::kParentFirst ? make(number, size) : nullptr;
  Node* const left = depth == 0 ? nullptr : build(depth - 1, 2 * number, size, order);
  Node* const right = depth == 0 ? nullptr : build(depth - 1, 2 * number + 1, size, order);
  if (node == nullptr) node = make(number, size);
  node->left = left;
  node->right = right;
  return node;
}

// Checks each node's number, and frees it. Returns how many there were.
size_t fell(Node* node, uint64_t number, size_t size) {
  if (node == nullptr) return 0;
  const char last = static_cast<char*>(static_cast<void*>(node))[size - 1];
  if (node->number != number || last != static_cast<char>(number)) fail("a node was damaged");
  const size_t count = fell(node->left, 2 * number, size) + fell(node->right, 2 * number + 1, size);
  std::free(node);
  return count + 1;
}

// Nodes built and felled.
size_t run(unsigned depth, size_t size, const Options& options) {
  Node* const staying = build(std::min(kStayingDepth, depth), 1, size, Order::kParentFirst);
  const size_t wanted = scaled(options, 3e6);
  size_t felled = 0;
  for (unsigned i = 0; felled < wanted; ++i) {
    const Order order = i % 2 == 0 ? Order::kParentFirst : Order::kChildrenFirst;
    felled += fell(build(depth, 1, size, order), 1, size);
  }
  fell(staying, 1, size);
  return felled;
}

}  // namespace

const Program kProgram = {
    .name = "tree_building",
    .what =
        R"(Builds a binary tree that stays, then perfect trees of one depth that are checked and felled at once, parents or
children first by turns. Shows short-lived blocks of one size, in numbers up to 131071 at a time.)",
    .figures = "depth/N for 4, 8, 12, 16: millions of nodes a second, over all threads; rss: KiB at the end.",
    .sizes = "32; at least so",
    .threads = "threads that do the same, each with trees of its own"};

void measure_all(const Options& options, Report& report) {
  const size_t size = std::max(kSmallestNode, options.size);
  for (const unsigned depth : kDepths) {
    report.measure("depth/" + std::to_string(depth), "M/s", [&](uint64_t) {
      std::vector<size_t> nodes(options.threads);
      const double ns = run_threads(options.threads, [&](unsigned t) { nodes[t] = run(depth, size, options); });
      size_t total = 0;
      for (const size_t each : nodes) total += each;
      return static_cast<double>(total) / ns * 1e3;
    });
  }
  report.add("rss", static_cast<double>(rss_kib()), "KiB");
}

}  // namespace workload
