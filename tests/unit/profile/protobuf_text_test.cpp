#include "profile/protobuf_text.h"

#include <string>

namespace snug {
namespace {

template <size_t Capacity>
std::string bytes_of(const ProtobufText<Capacity>& text) {
  return {reinterpret_cast<const char*>(text.data()), text.size()};
}

// The examples of the page that describes the encoding.
TEST(ProtobufTextTest, EncodesAsTheFormatsPageHasIt) {
  EXPECT_EQ(bytes_of(ProtobufText<64>().add_number(1, 150)), "\x08\x96\x01");
  EXPECT_EQ(bytes_of(ProtobufText<64>().add_bytes(2, "testing", 7)), "\x12\x07testing");
  EXPECT_EQ(bytes_of(ProtobufText<64>().add(3, ProtobufText<32>().add_number(1, 150))), "\x1a\x03\x08\x96\x01");
  const uint64_t numbers[] = {3, 270, 86942};
  EXPECT_EQ(bytes_of(ProtobufText<64>().add_packed(6, numbers, 3)), "\x32\x06\x03\x8e\x02\x9e\xa7\x05");
}

TEST(ProtobufTextTest, TheLargestNumberTakesTenBytes) {
  unsigned char bytes[kMostVarint];
  EXPECT_EQ(put_varint(bytes, UINT64_MAX), kMostVarint);
  EXPECT_EQ(put_varint(bytes, 127), 1u);
  EXPECT_EQ(put_varint(bytes, 128), 2u);
}

TEST(ProtobufTextTest, WhatDoesNotFitIsLeftOutWhole) {
  ProtobufText<64> text;
  const std::string longer(60, 'x');
  text.add_number(1, 5).add_bytes(2, longer.data(), longer.size()).add_number(3, 6);
  EXPECT_EQ(bytes_of(text), "\x08\x05\x18\x06");
}

TEST(ProtobufTextTest, NothingIsWrittenForZero) { EXPECT_EQ(ProtobufText<64>().add_number(1, 0).size(), 0u); }

}  // namespace
}  // namespace snug
