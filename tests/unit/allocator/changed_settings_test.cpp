// snug_set: settings that change while the process runs.
#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <cerrno>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "allocator/allocator.h"
#include "os/system_call_hook.h"
#include "snug/limits.h"
#include "snug/snug.h"

namespace snug {
namespace {

class ChangedSettingsTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* key : {"retain", "retain_large", "limit", "soft_limit", "purge_after"})
      before_.push_back(pair_of(key));
  }
  void TearDown() override {
    for (const std::string& pair : before_) EXPECT_EQ(snug_set(pair.c_str()), 0);
  }
  static std::string value_of(const std::string& key) {
    snug_config_entry entry;
    for (size_t i = 0; snug_config_get(i, &entry) == 0; ++i)
      if (key == entry.key) return entry.value;
    return "";
  }
  static std::string pair_of(const std::string& key) { return key + ":" + value_of(key); }
  static uint64_t retain() {
    snug_stats stats;
    snug_get_stats(&stats);
    return stats.retain;
  }
  static int error_of(const char* settings) {
    errno = 0;
    return snug_set(settings) == 0 ? 0 : errno;
  }

 private:
  std::vector<std::string> before_;
};

TEST_F(ChangedSettingsTest, CountFromThenOn) {
  EXPECT_EQ(error_of("retain:3M,purge_after:77"), 0);
  EXPECT_EQ(value_of("retain"), "3145728");
  EXPECT_EQ(value_of("purge_after"), "77");
  EXPECT_EQ(retain(), uint64_t{3} << 20);
  EXPECT_EQ(error_of("retain:5M"), 0);
  EXPECT_EQ(value_of("purge_after"), "77");
}

TEST_F(ChangedSettingsTest, AreTakenAsAWholeOrNotAtAll) {
  EXPECT_EQ(error_of("retain:3M"), 0);
  EXPECT_EQ(error_of("retain:4M,cache:1M"), EPERM);
  EXPECT_EQ(error_of("retain:4M,purge_after:never"), EINVAL);
  EXPECT_EQ(error_of("retain:4M,retian:5M"), EINVAL);
  EXPECT_EQ(error_of("check:on"), EPERM);
  EXPECT_EQ(error_of(""), EINVAL);
  EXPECT_EQ(error_of("retain"), EINVAL);
  EXPECT_EQ(value_of("retain"), "3145728");
}

// The other limit is the container's, of which the kernel tells nothing.
TEST_F(ChangedSettingsTest, ALimitHoldsThoughTheContainersIsNotKnown) {
  const size_t before = std::exchange(allocator.config.soft_limit, Config::kAutomatic);  // as at the start
  {
    const unit::SystemCallHook withheld(SYS_openat, [] { return false; }, EACCES);
    EXPECT_EQ(error_of("limit:3G"), 0);
  }
  allocator.config.soft_limit = before;
  snug_limits limits{};
  limits.size = sizeof limits;
  ASSERT_EQ(snug_get_limits(&limits), 0);
  EXPECT_EQ(limits.limit, uint64_t{3} << 30);
}

TEST_F(ChangedSettingsTest, WhileThreadsAllocate) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([t] {
      for (int round = 0; round < 200; ++round) {
        std::vector<void*> blocks;
        for (int i = 0; i < 50; ++i) blocks.push_back(snug_malloc(static_cast<size_t>(1000 * (t + i + 1))));
        for (void* block : blocks) snug_free(block);
        const char* const settings = round % 2 == 0 ? "retain:1M,purge_after:0" : "retain_large:0,purge_after:500";
        EXPECT_EQ(t == 0 ? snug_set(settings) : 0, 0);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(snug_check(0), nullptr);
}

}  // namespace
}  // namespace snug
