// statistics_test.cc: mallinfo2, malloc_info, malloc_stats, malloc_trim and mallopt tell the truth about this heap.
//
// glibc's numbers count what its thread cache holds as in use, and other mallocs leave these functions to glibc, which
// then reports a heap nobody uses: what follows is asked of snug alone, except that the functions can be called.
#include "pattern.h"
#include "sizes.h"
#include "subject.h"

#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

// glibc's meaning: uordblks is in use in the heap, hblkhd in blocks with a mapping of their own.
std::size_t bytes_in_use() {
  const subject::MallocInfo info = subject::mallinfo2();
  return info.uordblks + info.hblkhd;
}

void expect_truth(std::size_t size, std::size_t count) {
  std::vector<void*> blocks(count);
  const std::size_t requested = size * count;
  const std::size_t before = bytes_in_use();
  for (void*& block : blocks) block = subject::malloc(size);
  const std::size_t grown = bytes_in_use() - before;
  EXPECT_GE(grown, requested) << count << " blocks of " << size;
  EXPECT_LE(grown, requested + requested / 4) << count << " blocks of " << size;
  for (void* block : blocks) subject::free(block);
  const std::size_t after = bytes_in_use();
  EXPECT_LE(after, before + 1024) << count << " blocks of " << size;
  EXPECT_GE(after + 1024, before) << count << " blocks of " << size;
}

TEST(Mallinfo2, grows_and_shrinks_with_what_is_allocated) {
  SUBJECT_MUST_BE_SNUG();
  SUBJECT_MUST_OWN("mallinfo2");
  for (const std::size_t size : {64, 112, 240, 500, 1000, 4000, 7000, 16000, 30000, 60000, 120000})
    expect_truth(size, 4 * sizes::kMiB / size);
  for (const std::size_t size : {300000, 1000000, 5000000}) expect_truth(size, 5);
}

TEST(Mallinfo2, counts_small_blocks_in_uordblks) {
  SUBJECT_MUST_OWN("mallinfo2");
  if (subject::kind() == subject::Kind::kOther) GTEST_SKIP();
  const std::size_t before = subject::mallinfo2().uordblks;
  std::vector<void*> blocks(10'000);
  for (void*& block : blocks) block = subject::malloc(200);
  const std::size_t grown = subject::mallinfo2().uordblks - before;
  EXPECT_GE(grown, 2'000'000u);
  EXPECT_LE(grown, 2'500'000u);
  EXPECT_GE(subject::mallinfo2().arena, grown);
  for (void* block : blocks) subject::free(block);
}

TEST(Stats, are_exact_with_one_thread) {
  SUBJECT_MUST_BE_SNUG();
  constexpr std::size_t kBlocks = 5000;
  void* blocks[kBlocks];
  snug_stats before{};
  snug_stats during{};
  snug_stats after{};
  ASSERT_TRUE(subject::take_stats(before));
  std::size_t usable = 0;
  for (std::size_t i = 0; i < kBlocks; ++i) blocks[i] = subject::malloc(i * 7 % 3000 + (i % 500 == 0 ? 600'000 : 0));
  ASSERT_TRUE(subject::take_stats(during));
  for (void* block : blocks) usable += subject::malloc_usable_size(block);
  for (void* block : blocks) subject::free(block);
  ASSERT_TRUE(subject::take_stats(after));
  EXPECT_EQ(during.allocations - before.allocations, kBlocks);
  EXPECT_EQ(during.blocks_in_use - before.blocks_in_use, kBlocks);
  EXPECT_EQ(during.bytes_in_use - before.bytes_in_use, usable);
  EXPECT_GE(during.blocks_large - before.blocks_large, 10u);
  EXPECT_EQ(after.blocks_in_use, before.blocks_in_use);
  EXPECT_EQ(after.bytes_in_use, before.bytes_in_use);
  EXPECT_EQ(after.bytes_large, before.bytes_large);
  EXPECT_EQ(after.allocations, during.allocations);
  EXPECT_GE(during.bytes_reserved, during.bytes_in_use);
  EXPECT_GE(during.threads, 1u);
}

TEST(Stats, count_realloc_and_aligned_blocks) {
  SUBJECT_MUST_BE_SNUG();
  snug_stats before{};
  snug_stats during{};
  ASSERT_TRUE(subject::take_stats(before));
  void* grown = subject::realloc(subject::malloc(100), 70'000);
  void* aligned = subject::aligned_alloc(4096, 100);
  void* zeroed = subject::calloc(10, 10);
  ASSERT_TRUE(subject::take_stats(during));
  EXPECT_EQ(during.blocks_in_use - before.blocks_in_use, 3u);
  for (void* block : {grown, aligned, zeroed}) subject::free(block);
  ASSERT_TRUE(subject::take_stats(during));
  EXPECT_EQ(during.blocks_in_use, before.blocks_in_use);
  EXPECT_EQ(during.bytes_in_use, before.bytes_in_use);
}

std::string printed_info(int options, int& result) {
  // The stream's own buffer must not disturb the heap it describes.
  char text[64 * 1024] = "";
  std::FILE* stream = fmemopen(text, sizeof text, "w");
  result = subject::malloc_info(options, stream);
  const int kept = errno;
  std::fclose(stream);
  errno = kept;
  return text;
}

// Enough of XML to catch an unbalanced or misquoted document: nested elements, attributes in double quotes.
bool well_formed(const std::string& xml) {
  std::vector<std::string> open;
  std::size_t elements = 0;
  for (std::size_t at = 0; at < xml.size();) {
    if (xml[at] != '<') {
      if (open.empty() && !std::isspace(static_cast<unsigned char>(xml[at]))) return false;
      ++at;
      continue;
    }
    const std::size_t end = xml.find('>', at);
    if (end == std::string::npos) return false;
    const std::string tag = xml.substr(at + 1, end - at - 1);
    at = end + 1;
    if (tag.empty() || std::count(tag.begin(), tag.end(), '"') % 2 != 0 || tag.find('<') != std::string::npos)
      return false;
    if (tag[0] == '?') continue;
    const std::string element = tag.substr(tag[0] == '/', tag.find_first_of(" \t\n/", 1) - (tag[0] == '/'));
    if (tag[0] == '/') {
      if (open.empty() || open.back() != element) return false;
      open.pop_back();
    } else {
      if (open.empty() && ++elements > 1) return false;
      if (tag.back() != '/') open.push_back(element);
    }
  }
  return open.empty() && elements == 1;
}

TEST(MallocInfo, is_well_formed_xml) {
  SUBJECT_MUST_OWN("malloc_info");
  if (subject::kind() == subject::Kind::kOther) GTEST_SKIP();
  int result = -1;
  const std::string xml = printed_info(0, result);
  EXPECT_EQ(result, 0);
  EXPECT_EQ(xml.rfind("<malloc", 0), 0u) << xml;
  EXPECT_TRUE(well_formed(xml)) << xml;
  EXPECT_FALSE(well_formed(xml + "</malloc>"));
  EXPECT_FALSE(well_formed(xml.substr(0, xml.size() / 2)));
}

TEST(MallocInfo, refuses_options) {
  SUBJECT_MUST_OWN("malloc_info");
  if (subject::kind() == subject::Kind::kOther) GTEST_SKIP();
  int result = 0;
  errno = 0;
  const std::string xml = printed_info(1, result);
  // glibc returns EINVAL itself; snug.h promises -1 with errno.
  if (subject::kind() == subject::Kind::kSnug) {
    EXPECT_EQ(result, -1);
    EXPECT_EQ(errno, EINVAL);
  } else {
    EXPECT_EQ(result, EINVAL);
  }
  EXPECT_TRUE(xml.empty()) << xml;
}

// The largest number in the text: a report of another, idle heap cannot know of 40 MB.
std::uint64_t largest_number(const std::string& text) {
  std::uint64_t largest = 0;
  for (std::size_t at = 0; at < text.size(); ++at)
    if (std::isdigit(static_cast<unsigned char>(text[at]))) {
      char* end = nullptr;
      largest = std::max<std::uint64_t>(largest, std::strtoull(text.c_str() + at, &end, 10));
      at = static_cast<std::size_t>(end - text.c_str());
    }
  return largest;
}

TEST(MallocInfo, knows_of_live_blocks) {
  SUBJECT_MUST_BE_SNUG();
  std::vector<void*> blocks(10'000);
  for (void*& block : blocks) block = subject::malloc(4000);
  int result = -1;
  EXPECT_GE(largest_number(printed_info(0, result)), 40'000'000u);
  for (void* block : blocks) subject::free(block);
}

TEST(MallocStats, prints_amounts_with_units_on_standard_error) {
  SUBJECT_MUST_OWN("malloc_stats");
  if (subject::kind() == subject::Kind::kOther) GTEST_SKIP();
  std::fflush(stderr);
  std::FILE* file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  const int saved = dup(2);
  dup2(fileno(file), 2);
  void* block = subject::malloc(3 * sizes::kMiB);
  subject::malloc_stats();
  subject::free(block);
  std::fflush(stderr);
  dup2(saved, 2);
  close(saved);
  std::string text(4096, ' ');
  std::rewind(file);
  text.resize(std::fread(text.data(), 1, text.size(), file));
  EXPECT_GT(text.size(), 20u);
  std::fclose(file);
  if (subject::kind() != subject::Kind::kSnug) return;
  EXPECT_NE(text.find(" MiB  in live large blocks\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  blocks handed out\n"), std::string::npos) << text;
}

std::size_t resident_bytes() {
  std::size_t total = 0;
  std::size_t resident = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr || std::fscanf(file, "%zu %zu", &total, &resident) != 2) resident = 0;
  if (file != nullptr) std::fclose(file);
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

TEST(MallocTrim, gives_memory_back_and_keeps_live_blocks) {
  SUBJECT_MUST_OWN("malloc_trim");
  if (subject::kind() == subject::Kind::kOther) GTEST_SKIP();
  constexpr std::size_t kBytes = 64 * sizes::kMiB;
  std::vector<void*> blocks(kBytes / 1000);
  for (std::size_t i = 0; i < blocks.size(); ++i) pattern::fill(blocks[i] = subject::malloc(1000), 1000, i);
  const std::size_t full = resident_bytes();
  // Every thousandth block stays, so that slabs are sparse rather than empty.
  for (std::size_t i = 0; i < blocks.size(); ++i)
    if (i % 1000 != 0) subject::free(blocks[i]);
  subject::malloc_trim(0);
  const std::size_t trimmed = resident_bytes();
  if (!subject::kSanitized) {
    EXPECT_LT(trimmed + kBytes / 2, full);
  }
  for (std::size_t i = 0; i < blocks.size(); i += 1000) {
    EXPECT_TRUE(pattern::intact(blocks[i], 1000, i));
    subject::free(blocks[i]);
  }
  EXPECT_EQ(subject::check(), nullptr);
}

TEST(Mallopt, accepts_what_programs_set) {
  SUBJECT_MUST_OWN("mallopt");
  if (subject::kind() == subject::Kind::kOther) GTEST_SKIP();
  EXPECT_EQ(subject::mallopt(M_TRIM_THRESHOLD, 128 * 1024), 1);
  EXPECT_EQ(subject::mallopt(M_MMAP_THRESHOLD, 128 * 1024), 1);
  EXPECT_EQ(subject::mallopt(-12345, 1), 1);
  void* block = subject::malloc(200 * 1024);
  EXPECT_NE(block, nullptr);
  subject::free(block);
}

}  // namespace
