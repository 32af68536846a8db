// NearestWord: what is near a mistyped word, what is not, and which of several is meant.
#include "base/nearest_word.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

namespace snug {
namespace {

std::string nearest(const std::string& word, std::initializer_list<const char*> offered) {
  NearestWord nearest(word.data(), word.size());
  for (const char* other : offered) nearest.offer(other);
  return nearest.found() == nullptr ? "" : nearest.found();
}

TEST(NearestWord, OneLetterForEachFourAndOneMore) {
  EXPECT_EQ(nearest("run", {"run"}), "run");
  for (const char* one : {"rn", "runn", "ran", "urn", "rnu"}) EXPECT_EQ(nearest(one, {"run"}), "run") << one;
  for (const char* two : {"r", "ra", "rats", "nur"}) EXPECT_EQ(nearest(two, {"run"}), "") << two;
  EXPECT_EQ(nearest("recurd", {"record"}), "record");
  EXPECT_EQ(nearest("rekurd", {"record"}), "record") << "two of six letters";
  EXPECT_EQ(nearest("rikurd", {"record"}), "") << "three of six";
  EXPECT_EQ(nearest("xxcordingly", {"recordingly"}), "recordingly");
}

TEST(NearestWord, NeighboursInTheWrongOrderAreOneMistake) {
  EXPECT_EQ(nearest("--cmopare", {"--compare"}), "--compare");
  EXPECT_EQ(nearest("abc", {"bac"}), "bac");
  EXPECT_EQ(nearest("abc", {"cab"}), "") << "two steps";
}

TEST(NearestWord, ABeginningIsNear) {
  EXPECT_EQ(nearest("idle", {"retain", "idle_thread"}), "idle_thread");
  EXPECT_EQ(nearest("re", {"retain_large"}), "") << "too short to be meant";
}

TEST(NearestWord, TheNearestIsFoundAndOfTwoTheFirst) {
  EXPECT_EQ(nearest("retain_larg", {"retain", "retain_large"}), "retain_large");
  EXPECT_EQ(nearest("cat", {"car", "can"}), "car");
  EXPECT_EQ(nearest("cat", {"car", "cat"}), "cat");
}

TEST(NearestWord, NothingAndTooMuchIsNearNothing) {
  EXPECT_EQ(nearest("", {"run", ""}), "");
  EXPECT_EQ(nearest(std::string(32, 'a'), {std::string(32, 'a').c_str()}).size(), 32u);
  EXPECT_EQ(nearest(std::string(33, 'a'), {"aaaa"}), "");
  const std::string longer(33, 'a');
  EXPECT_EQ(nearest("aaa", {longer.c_str()}), "");
  EXPECT_EQ(nearest("run", {}), "");
}

}  // namespace
}  // namespace snug
