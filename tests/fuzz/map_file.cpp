// Map files of any bytes: read without fault, they are a map that the drop-in can run on; cut into pieces anywhere,
// they say the same. The first byte is the length of the pieces.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "size/class_table.h"
#include "size/map_reader.h"

namespace snug {
namespace {

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "map_file: %s\n", what);
  std::abort();
}

MapReader read(const char* text, size_t count, size_t piece) {
  MapReader reader;
  for (size_t at = 0; at < count; at += piece)
    if (!reader.read(text + at, piece < count - at ? piece : count - at)) break;
  expect(reader.finish() == (reader.fault() == nullptr), "a fault is told both ways");
  return reader;
}

void expect_same(const MapReader& a, const MapReader& b) {
  const bool same_fault =
      a.fault() == nullptr || b.fault() == nullptr ? a.fault() == b.fault() : std::strcmp(a.fault(), b.fault()) == 0;
  expect(same_fault && a.line() == b.line(), "pieces have the fault of the whole");
  expect(a.classes().count == b.classes().count, "pieces have the classes of the whole");
}

void expect_runnable(const ClassList& list) {
  expect(list.count >= 2 && list.count <= kMaxClasses, "some classes, not too many");
  const ClassTable table = make_class_table(list);
  expect(table.max_size >= kMediumSizeMax && table.max_size <= kLargestSizeMax, "the largest class is within bounds");
  for (size_t c = 1; c < table.count; ++c) {
    const SizeClass& one = table.classes[c];
    expect(one.block_size > table.classes[c - 1].block_size, "sizes rise");
    expect(table.class_of(one.block_size) == c && table.class_of(table.classes[c - 1].block_size + 1) == c,
           "each size finds its class");
    expect(one.cached_max >= 1 && one.cached_max <= kMostCached, "something is cached");
    const size_t last = one.blocks_per_slab - size_t{1};
    expect(one.slot_of(last * one.block_size) == last && (last + 1) * one.block_size <= one.pages_per_slab * kPageSize,
           "blocks fit their slab");
  }
  expect(table.class_of(0) == 1, "malloc(0) has a block");
}

}  // namespace
}  // namespace snug

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
  using namespace snug;
  if (count == 0) return 0;
  const char* const text = reinterpret_cast<const char*>(bytes) + 1;
  const MapReader whole = read(text, count - 1, count);
  expect_same(whole, read(text, count - 1, size_t{bytes[0]} + 1));
  if (whole.fault() == nullptr) expect_runnable(whole.classes());
  return 0;
}
