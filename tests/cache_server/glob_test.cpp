// Which keys a pattern names, as Redis has it.
#include "glob.h"

#include <gtest/gtest.h>

#include <string>

namespace {

using cache_server::matches;

TEST(Glob, NamesWhatItSays) {
  struct {
    const char *pattern, *named, *other;
  } static constexpr kPatterns[] = {
      {"", "", "a"},          {"key", "key", "keys"},  {"*", "", nullptr},        {"k?y", "kxy", "ky"},
      {"k*", "k", "ak"},      {"*y", "y", "ya"},       {"a*b*c", "a1b2c", "a1c"}, {"*ab", "aab", "aba"},
      {"a*b", "abab", "aba"}, {"**a", "a", "b"},       {"k[abc]y", "kby", "kdy"}, {"[a-c]", "b", "d"},
      {"[c-a]", "b", "d"},    {"[^a-c]", "d", "b"},    {"[^]", "a", ""},          {"[^]a", "xa", "a"},
      {"[a", "a", "b"},       {"[a-", "-", "b"},       {"\\*", "*", "a"},         {"\\", "\\", "a"},
      {"[\\]]", "]", "\\"},   {"k?y*", "kxy1", "kxz"}, {"*[0-9]*", "a5b", "ab"},
  };
  for (const auto& each : kPatterns) {
    EXPECT_TRUE(matches(each.pattern, each.named)) << each.pattern;
    if (each.other != nullptr) {
      EXPECT_FALSE(matches(each.pattern, each.other)) << each.pattern;
    }
  }
}

TEST(Glob, AnEmptySetNamesNothing) { EXPECT_FALSE(matches("[]", "]") || matches("[]", "") || matches("[", "[")); }

// Stars are not tried in each of all combinations.
TEST(Glob, TakesNoLongerThanPatternTimesText) {
  std::string pattern;
  for (int i = 0; i < 50; ++i) pattern += "*a";
  EXPECT_FALSE(matches(pattern + "b", std::string(10'000, 'a')));
  EXPECT_TRUE(matches(pattern, std::string(10'000, 'a')));
}

}  // namespace
