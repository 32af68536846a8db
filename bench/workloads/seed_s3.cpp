// seed_s3: the load of the Pool(3C++) document: build a linked list of N nodes with new and delete it again, N = 1 … 1
// 000 000. Stresses the plain path of operator new and delete, and cache locality at large N. The pools themselves are
// measured elsewhere: this is the column "without pools".
#include "workload.h"

namespace workload {
namespace {

struct ThingList {
  ThingList* next;
  uint64_t value;
};

// ns per node, new and delete together.
double run(size_t nodes, const Options& options) {
  const size_t repeats = std::max<size_t>(2, scaled(options, 2e6) / nodes);
  double start = 0;
  for (size_t repeat = 0; repeat <= repeats; ++repeat) {
    if (repeat == 1) start = now_ns();  // the first list warms up
    ThingList* head = nullptr;
    for (size_t j = 0; j < nodes; ++j) {
      auto* const node = new ThingList;
      node->next = head;
      node->value = j;
      head = node;
    }
    for (size_t j = nodes; head != nullptr;) {
      if (head->value != --j) fail("a node was damaged");
      ThingList* const next = head->next;
      delete head;
      head = next;
    }
  }
  return (now_ns() - start) / static_cast<double>(repeats * nodes);
}

}  // namespace
}  // namespace workload

int main(int argc, char** argv) {
  using namespace workload;
  const Options options = parse_options(argc, argv);
  Report report("seed_s3", options);
  for (const size_t nodes : {1, 10, 100, 1000, 10'000, 100'000, 1'000'000}) {
    std::vector<double> rounds;
    for (unsigned r = 0; r < options.rounds; ++r) rounds.push_back(run(nodes, options));
    report.add_median("N=" + std::to_string(nodes), rounds, "ns");
  }
  report.print();
}
