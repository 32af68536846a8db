// process_test.cc: what snug.h says of the library and of its settings in this process.
#include <gtest/gtest.h>
#include <snug/snug.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>

namespace {

// The key's entry; none if there is no such key.
snug_config_entry entry_of(const char* key) {
  snug_config_entry entry{};
  for (std::size_t index = 0; snug_config_get(index, &entry) == 0; ++index)
    if (std::strcmp(entry.key, key) == 0) return entry;
  return {};
}
std::string value_of(const char* key) { return entry_of(key).value; }

TEST(Version, is_that_of_the_header) {
  EXPECT_EQ(std::string(snug_version()), std::to_string(SNUG_VERSION_MAJOR) + "." + std::to_string(SNUG_VERSION_MINOR) +
                                             "." + std::to_string(SNUG_VERSION_PATCH));
}

TEST(ConfigGet, tells_every_key_once) {
  std::set<std::string> keys;
  snug_config_entry entry{};
  std::size_t index = 0;
  for (; snug_config_get(index, &entry) == 0; ++index) {
    EXPECT_TRUE(keys.insert(entry.key).second) << entry.key;
    for (const char* text : {entry.unit, entry.default_value, entry.value, entry.origin, entry.help})
      EXPECT_NE(text, nullptr) << entry.key;
    EXPECT_NE(std::string(entry.help), "") << entry.key;
  }
  EXPECT_GT(keys.size(), 10u);
  for (const char* key : {"retain", "retain_large", "limit", "soft_limit", "purge_after"})
    EXPECT_EQ(keys.count(key), 1u);
}

TEST(ConfigGet, refuses_an_index_beyond_the_last) {
  snug_config_entry entry{};
  std::size_t count = 0;
  while (snug_config_get(count, &entry) == 0) ++count;
  entry.key = "as it was";
  for (const std::size_t index : {count, count + 1, SIZE_MAX}) EXPECT_EQ(snug_config_get(index, &entry), -1);
  EXPECT_STREQ(entry.key, "as it was");
}

TEST(Set, changes_settings_of_the_running_process) {
  EXPECT_NE(std::string(entry_of("purge_after").origin), "changed");
  EXPECT_EQ(snug_set("purge_after:4711,retain:16M,soft_limit:3G"), 0);
  EXPECT_EQ(value_of("purge_after"), "4711");
  EXPECT_EQ(entry_of("retain").origin, std::string("changed"));
  snug_stats stats{};
  snug_get_stats(&stats);
  EXPECT_EQ(stats.retain, 16u << 20);
  EXPECT_EQ(snug_set("soft_limit:off"), 0);
}

TEST(Set, refuses_mistakes_and_changes_nothing) {
  ASSERT_EQ(snug_set("purge_after:4711"), 0);
  const auto refused = [](const char* settings, int error) {
    errno = 0;
    EXPECT_EQ(snug_set(settings), -1) << settings;
    EXPECT_EQ(errno, error) << settings;
    EXPECT_EQ(value_of("purge_after"), "4711") << settings;
  };
  refused("purge_after:1,purge_after:much", EINVAL);
  refused("purge_after:1,no_such_key:1", EINVAL);
  refused("purge_after", EINVAL);
  refused("purge_after:1,heaps:1", EPERM);
  refused("check:on,purge_after:1", EPERM);
}

TEST(Check, holds_and_takes_any_number) {
  void* const block = snug_malloc(100);
  for (const int all : {0, 1, -1, 4711}) EXPECT_EQ(snug_check(all), nullptr) << all;
  snug_free(block);
}

TEST(MallocInfo, refuses_options) {
  char* text = nullptr;
  std::size_t length = 0;
  FILE* const stream = open_memstream(&text, &length);
  errno = 0;
  EXPECT_EQ(snug_malloc_info(1, stream), -1);
  EXPECT_EQ(errno, EINVAL);
  std::fflush(stream);
  EXPECT_EQ(length, 0u);
  EXPECT_EQ(snug_malloc_info(0, stream), 0);
  std::fclose(stream);
  EXPECT_GT(length, 0u);
  std::free(text);
}

TEST(Mallopt, takes_any_parameter) {
  for (const int parameter : {-8, 0, 1, 4711}) EXPECT_EQ(snug_mallopt(parameter, -1), 1) << parameter;
  EXPECT_EQ(snug_check(1), nullptr);
}

}  // namespace
