// Map files: what is read, and each mistake with its line and its words.
#include "size/map_reader.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace snug {
namespace {

struct Reading {
  std::string fault;  // empty: none
  uint32_t line;
  ClassList classes;
  bool operator==(const Reading& other) const {
    if (fault != other.fault || line != other.line || classes.count != other.classes.count) return false;
    for (uint32_t c = 0; c < classes.count; ++c)
      if (classes.rows[c].size != other.classes.rows[c].size || classes.rows[c].cached != other.classes.rows[c].cached)
        return false;
    return true;
  }
};

// In pieces of the given lengths, over and over.
Reading read(const std::string& text, const std::vector<size_t>& pieces = {512}) {
  MapReader reader;
  size_t at = 0;
  for (size_t i = 0; at < text.size(); ++i) {
    const size_t piece = std::min(pieces[i % pieces.size()], text.size() - at);
    if (!reader.read(text.data() + at, piece)) break;
    at += piece;
  }
  const bool good = reader.finish();
  EXPECT_EQ(good, reader.fault() == nullptr);
  return {good ? "" : reader.fault(), reader.line(), reader.classes()};
}

TEST(MapReader, ReadsAMap) {
  const Reading map = read("# two classes\n\n  16\t1023  # first\r\n65536 1");
  EXPECT_EQ(map.fault, "");
  ASSERT_EQ(map.classes.count, 3u);
  EXPECT_EQ(map.classes.rows[1].size, 16u);
  EXPECT_EQ(map.classes.rows[1].cached, 1023u);
  EXPECT_EQ(map.classes.rows[2].size, 65536u);
  EXPECT_EQ(map.classes.rows[2].cached, 1u);
}

TEST(MapReader, ReadsWhatAMapSays) {
  const ClassList dense = class_list_of(DenseSizeClassMap::kParameters);
  std::string text;
  for (uint32_t c = 1; c < dense.count; ++c)
    text += std::to_string(dense.rows[c].size) + " " + std::to_string(dense.rows[c].cached) + "\n";
  EXPECT_EQ(read(text), (Reading{"", dense.count, dense}));
}

struct Mistake {
  const char* text;
  uint32_t line;
  const char* fault;
};

TEST(MapReader, NamesEachMistakeAndItsLine) {
  const char* const numbers = "expected two numbers, bytes of a block and blocks cached, or a comment after #";
  const char* const missing = "the blocks cached are missing behind the size";
  const char* const more = "something stands behind the two numbers";
  const Mistake mistakes[] = {
      {"", 1, "no class at all"},
      {"# nothing\n", 2, "no class at all"},
      {"16 8\nx", 2, numbers},
      {"16 8\n32 -8\n", 2, numbers},
      {"16K 8\n", 1, numbers},
      {"16 8x\n", 1, numbers},
      {"16, 8\n", 1, numbers},
      {"\n\n16\n", 3, missing},
      {"16 \n", 1, missing},
      {"16 # 8\n", 1, missing},
      {"16# 8\n", 1, missing},
      {"16", 1, missing},
      {"16 8 8\n", 1, more},
      {"16 8 x\n", 1, more},
      {"16 8\n24 8\n", 2, "the size is no multiple of 16, or above 1024 of 256, or above 65536 of 4096"},
      {"16 8\n16 8\n", 2, "the size is not above the one before"},
      {"16 0\n", 1, "the cached blocks are not from 1 to 1023"},
      {"16 1024\n", 1, "the cached blocks are not from 1 to 1023"},
      {"266240 1\n", 1, "the size is beyond 262144"},
      {"18446744073709551632 1\n", 1, "the size is beyond 262144"},
      {"16 18446744073709551617\n", 1, "the cached blocks are not from 1 to 1023"},
      {"16 8\n32 8\n", 3, "the largest class is below 65536, where every request needs a class"},
  };
  for (const Mistake& mistake : mistakes) {
    const Reading reading = read(mistake.text);
    EXPECT_EQ(reading.fault, mistake.fault) << mistake.text;
    EXPECT_EQ(reading.line, mistake.line) << mistake.text;
  }
  EXPECT_EQ(read(std::string("16 8\n\0", 6)).fault, numbers);
  // Appended: of a sum of strings GCC 12 says, under ThreadSanitizer, that it goes out of bounds.
  std::string too_long("16 8\n");
  too_long.append(MapReader::kLongestFile, '#');
  EXPECT_EQ(read(too_long).fault, "the file is longer than 64 KiB");
  std::string as_long_as_may_be(MapReader::kLongestFile - 8, '\n');
  as_long_as_may_be.append("65536 1\n");
  EXPECT_EQ(read(as_long_as_may_be).fault, "");
}

// Wherever the text is cut into pieces, it says the same.
RC_GTEST_PROP(MapReader, ReadsPiecewise, ()) {
  const auto text = *rc::gen::container<std::string>(rc::gen::elementOf(std::string("0136 \t\n\n# x\r")));
  const auto pieces = *rc::gen::nonEmpty(rc::gen::container<std::vector<size_t>>(rc::gen::inRange<size_t>(1, 9)));
  RC_ASSERT(read(text, pieces) == read(text));
}

}  // namespace
}  // namespace snug
