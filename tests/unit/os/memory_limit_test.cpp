// What limits a process's memory, in a tree of files as the kernel shows them, and in a group of our own.
#include "os/memory_limit.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "os/own_group.h"

namespace snug::os {
namespace {

namespace fs = std::filesystem;

class MemoryLimitTest : public testing::Test {
 protected:
  MemoryLimitTest() : mount(fs::temp_directory_path() / ("snug-groups-" + std::to_string(getpid()))) {
    fs::create_directories(mount);
  }
  ~MemoryLimitTest() override { fs::remove_all(mount); }

  void say(const std::string& file, const std::string& text) {
    fs::create_directories((mount / file).parent_path());
    std::ofstream(mount / file) << text << '\n';
  }
  size_t limit(const std::string& groups) const {
    std::ofstream(mount / "groups") << groups;
    return group_limit((mount / "groups").c_str(), mount.c_str());
  }

  const fs::path mount;
};

TEST_F(MemoryLimitTest, TheLeastOfTheGroupsAboveCounts) {
  say("memory.max", "max");
  say("a/memory.max", "300000000");
  say("a/b/memory.max", "400000000");
  say("a/c/memory.max", "200000000");
  EXPECT_EQ(limit("0::/a/b\n"), 300000000u);
  EXPECT_EQ(limit("0::/a/c\n"), 200000000u);
  EXPECT_EQ(limit("0::/a/c"), 200000000u);
  EXPECT_EQ(limit("0::/d\n"), SIZE_MAX);
}

TEST_F(MemoryLimitTest, AContainerSeesItsGroupAsTheRoot) {
  say("memory.max", "268435456");
  EXPECT_EQ(limit("0::/\n"), 268435456u);
  EXPECT_EQ(limit("0::/docker/of-another-namespace\n"), 268435456u);
}

TEST_F(MemoryLimitTest, VersionOneSaysItElsewhere) {
  say("memory/memory.limit_in_bytes", "9223372036854771712");
  say("memory/pod/memory.limit_in_bytes", "134217728");
  say("memory.max", "7");
  EXPECT_EQ(limit("9:cpu,cpuacct:/pod\n4:hugetlb,memory:/pod/one\n1:name=memory:/\n"), 134217728u);
  EXPECT_EQ(limit("9:cpu,cpuacct:/pod\n4:memoryless:/pod\n"), SIZE_MAX);
  EXPECT_EQ(limit("4:memory:/\n"), 9223372036854771712u);
}

TEST_F(MemoryLimitTest, ALongListIsReadToItsEnd) {
  say("memory/deep/memory.limit_in_bytes", "1000000");
  std::string groups;
  for (int i = 0; i < 40; ++i) groups += "9:cpu" + std::to_string(i) + ":/" + std::string(300, 'x') + "\n";
  EXPECT_EQ(limit(groups + "4:memory:/deep\n"), 1000000u);
}

TEST_F(MemoryLimitTest, WhereNoListIsToBeHadTheRootCounts) {
  say("memory.max", "268435456");
  EXPECT_EQ(group_limit("/nowhere/at/all", mount.c_str()), 268435456u);
}

TEST_F(MemoryLimitTest, WhatMakesNoSenseLimitsNothing) {
  say("memory.max", "99999999999999999999999999");
  say("a/memory.max", "");
  say("memory/memory.limit_in_bytes", "-1");
  for (const char* const groups : {"\n", ":", "0", "0:", "0::", "0::/a\n", "4:memory:", "::::", "4:memory"})
    EXPECT_EQ(limit(groups), SIZE_MAX) << groups;
  EXPECT_EQ(limit("0::/" + std::string(5000, 'x')), SIZE_MAX);
}

TEST_F(MemoryLimitTest, AGroupOfOurOwnIsSeen) {
  const OwnGroup group(209715200);
  const auto outcome = group.ask([] { return memory_limit() == 209715200; });
  if (outcome == OwnGroup::Outcome::kCannot) GTEST_SKIP() << "no group can be made here";
  EXPECT_EQ(outcome, OwnGroup::Outcome::kTrue);
}

}  // namespace
}  // namespace snug::os
