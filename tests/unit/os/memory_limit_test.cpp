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

TEST_F(MemoryLimitTest, TheRoomIsWhatAllInTheGroupLeave) {
  say("memory.max", "max");
  say("a/memory.max", "300000000");
  say("a/memory.high", "200000000");
  say("a/memory.stat", "anon 90000000\nfile 900000000\nkernel 4000000\nshmem 1000000\nsock 5000000\nanon_thp 77777777");
  say("a/b/memory.max", "250000000");
  say("a/b/memory.high", "max");
  say("a/b/memory.stat", "anon 30000000\nshmem 0\n");
  const auto room = [&](const std::string& groups) {
    limit(groups);
    return group_room((mount / "groups").c_str(), mount.c_str());
  };
  EXPECT_EQ(room("0::/a/b\n").most, 200000000u);
  EXPECT_EQ(room("0::/a/b\n").high, 100000000u);
  EXPECT_EQ(room("0::/c\n").most, SIZE_MAX);
  EXPECT_EQ(room("0::/c\n").high, SIZE_MAX);
  say("a/memory.stat", "anon 400000000\n");
  EXPECT_EQ(room("0::/a\n").most, 0u);
  say("memory/memory.limit_in_bytes", "50000000");
  say("memory/memory.stat", "rss 1\ntotal_rss 20000000\ntotal_shmem 5000000\ntotal_cache 9999999\n");
  EXPECT_EQ(room("4:memory:/\n").most, 25000000u);
  EXPECT_EQ(room("4:memory:/\n").high, SIZE_MAX);
}

TEST_F(MemoryLimitTest, TheStallIsTheInnermostGroupsThatSaysIt) {
  say("memory.pressure", "some avg10=9.00 avg60=0.00 avg300=0.00 total=1\nfull avg10=7.00 avg60=0.00 total=0");
  say("a/memory.pressure", "some avg10=12.34 avg60=99.00 avg300=0.00 total=1\n");
  say("machine", "some avg10=0.07 avg60=0.00 avg300=0.00 total=1\n");
  const auto stall = [&](const std::string& groups, const char* machine) {
    limit(groups);
    return memory_stall((mount / "groups").c_str(), mount.c_str(), (mount / machine).c_str());
  };
  EXPECT_EQ(stall("0::/a/b\n", "machine"), 1234u);
  EXPECT_EQ(stall("0::/c\n", "machine"), 900u);
  fs::remove(mount / "memory.pressure");
  EXPECT_EQ(stall("0::/c\n", "machine"), 7u);
  EXPECT_EQ(stall("0::/c\n", "nowhere"), 0u);
  say("machine", "full avg10=7.00\nsome avg60=3\n");
  EXPECT_EQ(stall("0::/c\n", "machine"), 0u);
}

TEST_F(MemoryLimitTest, TheProcessHasMemoryOfItsOwn) {
  const size_t before = anonymous_memory();
  const std::string bytes(size_t{32} << 20, 'x');
  EXPECT_GE(anonymous_memory(), before + (size_t{30} << 20)) << bytes[77];
}

TEST_F(MemoryLimitTest, AGroupOfOurOwnIsSeen) {
  const OwnGroup group(209715200);
  const auto outcome = group.ask([] { return memory_limit() == 209715200; });
  if (outcome == OwnGroup::Outcome::kCannot) GTEST_SKIP() << "no group can be made here";
  EXPECT_EQ(outcome, OwnGroup::Outcome::kTrue);
}

}  // namespace
}  // namespace snug::os
