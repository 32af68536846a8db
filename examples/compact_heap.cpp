// Ten thousand objects of which every other one goes: the others close up, and keep their names.
#include <cstdio>
#include <vector>

#include "snug/compact_heap.h"

struct Point {
  double x, y;
};

int main() {
  snug::CompactHeap heap;
  std::vector<snug::Handle<Point>> points;
  for (int i = 0; i < 10000; ++i) points.push_back(heap.make<Point>(Point{double(i), 0}));
  for (int i = 0; i < 10000; i += 2) heap.destroy(points[i]);
  double sum = 0;
  const snug::Section section(heap);  // nothing moves in here, so that an access needs no check
  for (int i = 1; i < 10000; i += 2) sum += section[points[i]].x;
  std::printf("%.0f in %zu pages\n", sum, heap.stats().pages);
  return heap.check() == nullptr && heap.stats().pages == 5 ? 0 : 1;
}
