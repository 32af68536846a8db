// seed_s3: the load of Pool(3C++)'s table (docs/seeds.md, S3): build a linked list of N nodes with new and delete it
// again, N = 1 … 1 000 000. Stresses the plain path of operator new and delete, and cache locality at large N. The
// pools themselves are measured elsewhere: this is the column "without pools".
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

const Program kProgram = {
    .name = "seed_s3",
    .what = R"(Builds a linked list of N nodes of 16 B with new and deletes it again: the column without pools of
Pool(3C++)'s published table. Shows the plain path of operator new and delete, and locality at large N.)",
    .figures = "N=1 to N=1000000 in powers of 10: ns a node, new and delete together.",
    .threads = "threads that do the same, each with lists of its own"};

void measure_all(const Options& options, Report& report) {
  for (size_t nodes = 1; nodes <= 1'000'000; nodes *= 10) {
    report.measure("N=" + std::to_string(nodes), "ns", [&](uint64_t) {
      return average_of_threads(options.threads, [&](unsigned) { return run(nodes, options); });
    });
  }
}

}  // namespace workload
