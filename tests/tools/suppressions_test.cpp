// Which names a pattern of LeakSanitizer's suppressions matches: each answer is LeakSanitizer's own.
#include "report_command/leak_suppressions.h"

#include <gtest/gtest.h>

namespace snug::tool {
namespace {

struct Case {
  const char* pattern;
  const char* name;
  bool matches;
};

TEST(Suppressions, MatchAsLeakSanitizerDoes) {
  constexpr Case kCases[] = {
      {"bc", "abcd", true},     {"bd", "abcd", false},
      {"abcd", "abcd", true},   {"abcde", "abcd", false},
      {"a*d", "abcd", true},    {"a*b", "abcd", true},
      {"d*a", "abcd", false},   {"*bc*", "abcd", true},
      {"*", "abcd", true},      {"*", "", false},
      {"", "abcd", true},       {"", "", false},
      {"^ab", "abcd", true},    {"^bc", "abcd", false},
      {"^*bc", "abcd", true},   {"cd$", "abcd", true},
      {"bc$", "abcd", false},   {"bc*$", "abcd", true},
      {"^abcd$", "abcd", true}, {"^abc$", "abcd", false},
      {"^a*d$", "abcd", true},  {"^a*c$", "abcd", false},
      {"b^c", "ab^cd", true},   {"bc$x", "abc", true},
      {"b$", "bb", false},      {"foo::bar", "x::foo::bar(int)", true},
      {"aa", "aXa", false},     {"a*a", "a", false},
      {"ab*ab", "ab", false},   {"^", "abcd", true},
      {"$", "abcd", false},     {"^$", "abcd", false},
  };
  for (const Case& one : kCases)
    EXPECT_EQ(matches_suppression(one.pattern, one.name), one.matches) << one.pattern << " in " << one.name;
}

}  // namespace
}  // namespace snug::tool
