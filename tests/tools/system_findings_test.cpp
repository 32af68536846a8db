// What the doctor reads of the system, on made-up folders.
#include "doctor/system_findings.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

namespace snug::tool {

namespace {

namespace fs = std::filesystem;

class SystemFindings : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "/snug-system-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
    write("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
    write("proc/status", "Name:\tprogram\nTHP_enabled:\t1\n");
    write("proc/limits",
          "Limit                     Soft Limit           Hard Limit           Units\n"
          "Max address space         unlimited            unlimited            bytes\n");
    write("proc/cgroup", "0::/\n");
  }
  void TearDown() override { fs::remove_all(root_); }

  void write(const fs::path& file, const std::string& text) {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }
  Surroundings surroundings() const { return {root_ / "proc", root_ / "sys", environment_}; }
  std::vector<std::string> found() const {
    std::vector<std::string> ids;
    for (const Finding& finding : system_findings(surroundings())) {
      EXPECT_FALSE(finding.in_the_way()) << finding.id;
      ids.emplace_back(finding.id);
    }
    return ids;
  }

  fs::path root_;
  Environment environment_;
};

using Ids = std::vector<std::string>;

TEST_F(SystemFindings, nothing_on_a_usual_system) { EXPECT_EQ(found(), Ids()); }

TEST_F(SystemFindings, nothing_where_nothing_can_be_read) {
  fs::remove_all(root_ / "proc");
  fs::remove_all(root_ / "sys");
  EXPECT_EQ(found(), Ids());
}

TEST_F(SystemFindings, huge_pages_off_in_the_system_or_for_the_process) {
  write("sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n");
  EXPECT_EQ(found(), Ids({"no-huge-pages"}));
  EXPECT_NE(system_findings(surroundings())[0].remedy.find("echo madvise"), std::string::npos);
  write("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n");
  EXPECT_EQ(found(), Ids());
  write("proc/status", "Name:\tprogram\nTHP_enabled:\t0\n");
  EXPECT_EQ(found(), Ids({"no-huge-pages"}));
  EXPECT_NE(system_findings(surroundings())[0].remedy.find("prctl"), std::string::npos);
}

TEST_F(SystemFindings, limit_of_the_address_space) {
  write("proc/limits", "Max address space         1073741824           unlimited            bytes\n");
  EXPECT_EQ(found(), Ids({"address-space"}));
}

TEST_F(SystemFindings, the_least_limit_of_the_group_and_those_around_it) {
  write("proc/cgroup", "0::/outer/inner\n");
  write("sys/fs/cgroup/outer/memory.max", "67108864\n");
  write("sys/fs/cgroup/outer/inner/memory.max", "max\n");
  EXPECT_EQ(control_group_limit(surroundings()), 67108864u);
  write("sys/fs/cgroup/outer/inner/memory.max", "33554432\n");
  EXPECT_EQ(control_group_limit(surroundings()), 33554432u);
  EXPECT_EQ(found(), Ids({"memory-limit"}));
}

TEST_F(SystemFindings, a_container_sees_its_own_group_as_the_root) {
  write("proc/cgroup", "0::/../../elsewhere\n");
  write("sys/fs/cgroup/memory.max", "67108864\n");
  EXPECT_EQ(control_group_limit(surroundings()), 67108864u);
}

TEST_F(SystemFindings, the_first_version_of_control_groups) {
  write("proc/cgroup", "9:cpu,memory:/docker/4711\n8:pids:/docker/4711\n");
  write("sys/fs/cgroup/memory/docker/4711/memory.limit_in_bytes", "67108864\n");
  EXPECT_EQ(control_group_limit(surroundings()), 67108864u);
  write("sys/fs/cgroup/memory/docker/4711/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(control_group_limit(surroundings()), std::nullopt);
}

TEST_F(SystemFindings, another_preload) {
  environment_.set("LD_PRELOAD", "");
  EXPECT_EQ(found(), Ids());
  environment_.set("LD_PRELOAD", "/lib/libother.so");
  EXPECT_EQ(found(), Ids({"ld-preload"}));
}

}  // namespace

}  // namespace snug::tool
