// main.cc: runs the tests only after a proof of which allocator serves them.
//
//   --allocator=NAME   fail at once unless NAME (snug, glibc, or a library's file name) serves malloc here
//
// Without the proof a misspelt LD_PRELOAD would let every test pass on glibc.
#include "subject.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>

namespace {

constexpr int kWrongAllocator = 3;

const char* expected_allocator(int argc, char** argv) {
  constexpr const char* kOption = "--allocator=";
  for (int i = 1; i < argc; ++i)
    if (std::strncmp(argv[i], kOption, std::strlen(kOption)) == 0) return argv[i] + std::strlen(kOption);
  return nullptr;
}

// The name of the object could still forward elsewhere; snug's own count of allocations could not be right then.
bool snug_counts_our_blocks() {
  constexpr int kBlocks = 1000;
  snug_stats before{};
  snug_stats after{};
  if (!subject::take_stats(before)) return false;
  void* blocks[kBlocks];
  for (void*& block : blocks) block = subject::malloc(40);
  const bool counted = subject::take_stats(after) && after.allocations - before.allocations >= kBlocks;
  for (void* block : blocks) subject::free(block);
  return counted;
}

}  // namespace

int main(int argc, char** argv) {
  const char* expected = expected_allocator(argc, argv);
  testing::InitGoogleTest(&argc, argv);
  if (expected != nullptr && std::strcmp(expected, subject::name()) != 0) {
    std::fprintf(stderr, "conformance: malloc is served by %s, not by %s\n", subject::object(), expected);
    return kWrongAllocator;
  }
  if (subject::kind() == subject::Kind::kSnug && !snug_counts_our_blocks()) {
    std::fprintf(stderr, "conformance: snug does not count the blocks it should have handed out\n");
    return kWrongAllocator;
  }
  return RUN_ALL_TESTS();
}
