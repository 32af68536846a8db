// Text built in place: numbers at their limits, and cuts at the capacity.
#include "base/text.h"

#include <gtest/gtest.h>

#include <string>

namespace snug {
namespace {

TEST(Text, Numbers) {
  Text<128> text;
  text.add(uint64_t{0}).put(' ').add(uint64_t{10}).put(' ').add(UINT64_MAX);
  EXPECT_STREQ(text.data(), "0 10 18446744073709551615");
  EXPECT_EQ(text.size(), std::string(text.data()).size());
}

TEST(Text, Hexadecimal) {
  Text<128> text;
  text.add_hex(0).put(' ').add_hex(0xf).put(' ').add_hex(0x10).put(' ').add_hex(0x7f00deadbeef).put(' ');
  text.add_hex(UINT64_MAX);
  EXPECT_STREQ(text.data(), "0x0 0xf 0x10 0x7f00deadbeef 0xffffffffffffffff");
}

TEST(Text, BytesByCount) {
  Text<16> text;
  text.add("abcdef", 3).add("", 0).add("gh");
  EXPECT_STREQ(text.data(), "abcgh");
}

TEST(Text, IsCutAtItsCapacity) {
  struct {
    Text<8> text;
    char after[8] = {'s', 'a', 'f', 'e'};
  } here;
  here.text.add("123456789");
  EXPECT_STREQ(here.text.data(), "1234567");
  here.text.put('x').add(uint64_t{42}).add_hex(42).add("yz", 2);
  EXPECT_STREQ(here.text.data(), "1234567");
  EXPECT_EQ(here.text.size(), 7u);
  EXPECT_STREQ(here.after, "safe");
}

}  // namespace
}  // namespace snug
