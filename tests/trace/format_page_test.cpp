// docs/trace-format.md: its table of operations is that of the code. A failure prints what should stand there.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "trace/operation.h"

namespace snug::trace {
namespace {

std::string type_of(Field field) {
  switch (field) {
    case Field::kBlock:
      return "block";
    case Field::kSigned:
      return "signed";
    case Field::kText:
      return "text";
    default:
      return "varint";
  }
}

std::string row_of(std::size_t code) {
  const OperationTraits& traits = table::kTraits[code];
  std::string fields;
  for (std::size_t i = 0; i < kMostFields && traits.fields[i] != Field::kNone; ++i) {
    if (i != 0) fields += ", ";
    fields += std::string(traits.field_names[i]) + " (" + type_of(traits.fields[i]) + ")";
  }
  std::string effect;
  if (traits.effect == Effect::kAllocates) effect = traits.zeroed ? "new, zeroed" : "new";
  if (traits.effect == Effect::kReallocates) effect = "the block goes; new";
  if (traits.effect == Effect::kFrees) effect = "the block goes";
  if (traits.effect == Effect::kFinds) effect = "the block is there";
  return "| " + std::to_string(code) + " | `" + std::string(traits.name) + "` | " + fields + " | " + effect + " | " +
         (traits.takes_turn ? "takes" : "") + " |\n";
}

TEST(FormatPage, TheTableOfOperationsIsThatOfTheCode) {
  std::string expected = "| code | operation | fields | blocks | turn |\n|---|---|---|---|---|\n";
  for (std::size_t code = 1; code < kOperations; ++code) expected += row_of(code);
  std::ifstream file(FORMAT_PAGE);
  const std::string page(std::istreambuf_iterator<char>(file), {});
  const std::string begin = "<!-- operations -->\n";
  const std::size_t from = page.find(begin);
  const std::size_t to = page.find("<!-- end of operations -->");
  ASSERT_TRUE(from != std::string::npos && to != std::string::npos && from < to);
  EXPECT_EQ(page.substr(from + begin.size(), to - from - begin.size()), "\n" + expected + "\n")
      << "what should stand there:\n"
      << expected;
}

}  // namespace
}  // namespace snug::trace
