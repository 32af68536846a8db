// SNUG_CONF: every key, every suffix, and what is said of what is wrong.
#include "allocator/config.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>

namespace snug {
namespace {

class ConfigTest : public testing::Test {
 protected:
  void TearDown() override { ::unsetenv("SNUG_CONF"); }

  // Reads the text as the environment's and keeps what was complained of.
  Config read(const std::string& text) {
    ::setenv("SNUG_CONF", text.c_str(), 1);
    testing::internal::CaptureStderr();
    const Config config = read_config(&keys);
    complaints = testing::internal::GetCapturedStderr();
    return config;
  }
  static uint32_t bit(const std::string& key) {
    for (uint32_t i = 0; i < kConfigKeys; ++i)
      if (key == kConfigTable[i].key) return 1u << i;
    ADD_FAILURE() << "no key " << key;
    return 0;
  }
  static std::string value(const Config& config, size_t index, size_t capacity = 1024) {
    std::string text(capacity + 1, '#');
    print_config_value(config, index, text.data(), capacity);
    EXPECT_EQ(text[capacity], '#') << "written beyond the capacity";
    return capacity == 0 ? std::string() : std::string(text.c_str());
  }

  uint32_t keys = ~0u;
  std::string complaints;
};

constexpr size_t kMiB = size_t{1} << 20;

TEST_F(ConfigTest, WithoutItTheDefaults) {
  ::unsetenv("SNUG_CONF");
  const Config config = read_config(&keys);
  EXPECT_EQ(keys, 0u);
  EXPECT_EQ(config.classes, ClassMap::kDefault);
  EXPECT_EQ(config.cache, 8 * kMiB);
  EXPECT_EQ(config.heaps, 0u) << "auto";
  EXPECT_EQ(config.batch, Batching::kAdaptive);
  EXPECT_EQ(config.retain, 64 * kMiB);
  EXPECT_EQ(config.retain_large, 64 * kMiB);
  EXPECT_EQ(config.limit, 0u);
  EXPECT_EQ(config.soft_limit, 0u);
  EXPECT_EQ(config.pressure, 0u);
  EXPECT_EQ(config.purge_after, 1000u);
  EXPECT_EQ(config.idle_thread, BackgroundThreadMode::kAuto);
  EXPECT_EQ(config.check, Checking::kOff);
  EXPECT_EQ(config.quarantine, 4 * kMiB);
  EXPECT_EQ(config.profile, 0u);
  EXPECT_STREQ(config.profile_out, "");
  EXPECT_EQ(config.profile_at, 0u);
  EXPECT_EQ(config.profile_signal, 0u);
  EXPECT_FALSE(config.writes_profiles());
  EXPECT_STREQ(config.report, "");
}

TEST_F(ConfigTest, EveryKey) {
  const Config config = read(
      "classes:dense,sized_delete:trust,cache:1M,heaps:6,stores:5,batch:one,retain:2M,retain_large:3M,limit:2G,"
      "soft_limit:auto,pressure:20,purge_after:5,idle_thread:on,check:on,quarantine:3M,profile:512K,"
      "profile_out:/tmp/p,profile_at:+256M,profile_signal:SIGUSR2,profile_rt:16M,publish:on,served:/dev/null,"
      "report:/tmp/a file:b");
  EXPECT_EQ(complaints, "");
  EXPECT_EQ(keys, (1u << kConfigKeys) - 1);
  EXPECT_EQ(config.classes, ClassMap::kDense);
  EXPECT_EQ(config.sized_delete, SizedDelete::kTrust);
  EXPECT_EQ(config.cache, kMiB);
  EXPECT_EQ(config.heaps, 6u);
  EXPECT_EQ(config.stores, 5u);
  EXPECT_EQ(config.batch, Batching::kOne);
  EXPECT_EQ(config.retain, 2 * kMiB);
  EXPECT_EQ(config.retain_large, 3 * kMiB);
  EXPECT_EQ(config.limit, 2048 * kMiB);
  EXPECT_EQ(config.soft_limit, Config::kAutomatic);
  EXPECT_EQ(config.pressure, 20u);
  EXPECT_EQ(config.purge_after, 5u);
  EXPECT_EQ(config.idle_thread, BackgroundThreadMode::kOn);
  EXPECT_EQ(config.check, Checking::kOn);
  EXPECT_EQ(config.quarantine, 3 * kMiB);
  EXPECT_EQ(config.profile, 512u << 10);
  EXPECT_STREQ(config.profile_out, "/tmp/p");
  EXPECT_EQ(config.profile_at, 256 * kMiB);
  EXPECT_EQ(config.profile_signal, static_cast<uint32_t>(SIGUSR2));
  EXPECT_EQ(config.profile_rt, size_t{16} << 20);
  EXPECT_TRUE(config.publish);
  EXPECT_STREQ(config.report, "/tmp/a file:b");
  EXPECT_EQ(config.reporting, Reporting::kStatistics);
  EXPECT_EQ(read("classes:default").classes, ClassMap::kDefault);
}

TEST_F(ConfigTest, OneKeySetsOneBit) {
  for (const char* pair :
       {"classes:dense",  "sized_delete:check", "cache:1",         "heaps:auto",         "stores:auto",
        "batch:adaptive", "retain:1",           "retain_large:1",  "limit:off",          "soft_limit:1K",
        "pressure:off",   "purge_after:1",      "idle_thread:off", "check:off",          "quarantine:1",
        "profile:off",    "profile_out:/tmp/p", "profile_at:off",  "profile_signal:off", "profile_rt:16M",
        "publish:on",     "report:/dev/null",   "served:/dev/null"}) {
    read(pair);
    EXPECT_EQ(keys, bit(std::string(pair).substr(0, std::string(pair).find(':')))) << pair;
  }
}

TEST_F(ConfigTest, SuffixesArePowersOf1024) {
  EXPECT_EQ(read("retain:0").retain, 0u);
  EXPECT_EQ(read("retain:123").retain, 123u);
  for (const char* k : {"retain:7K", "retain:7k"}) EXPECT_EQ(read(k).retain, size_t{7} << 10);
  for (const char* m : {"retain:7M", "retain:7m"}) EXPECT_EQ(read(m).retain, size_t{7} << 20);
  for (const char* g : {"retain:7G", "retain:7g"}) EXPECT_EQ(read(g).retain, size_t{7} << 30);
  EXPECT_EQ(read("retain:1048576G").retain, size_t{1} << 50);
  EXPECT_EQ(complaints, "");
}

TEST_F(ConfigTest, EmptyPairsAreNothingAndTheLastWins) {
  EXPECT_EQ(read("").cache, 8 * kMiB);
  EXPECT_EQ(complaints, "");
  EXPECT_EQ(read(",,cache:1M,,cache:2M,").cache, 2 * kMiB);
  EXPECT_EQ(complaints, "");
}

TEST_F(ConfigTest, BadSizesAreNamedAndIgnored) {
  for (const std::string bad : {"", "x", "-1", "1T", "1MB", "1 M", "M", "0x10", "1.5M", "1048577G", "1125899906842625",
                                "18446744073709551616", "99999999999999999999999"}) {
    const Config config = read("retain:" + bad + ",cache:9M");
    EXPECT_EQ(config.retain, 64 * kMiB) << bad;
    EXPECT_EQ(config.cache, 9 * kMiB) << "the rest is read on";
    EXPECT_EQ(keys, bit("cache"));
    EXPECT_EQ(complaints,
              "snug: SNUG_CONF: bad value '" + bad + "' for 'retain': expected a size in bytes, as in 64K, 4M, 1G\n");
  }
}

TEST_F(ConfigTest, LimitsOfEachKey) {
  EXPECT_EQ(read("cache:1025G").cache, 8 * kMiB);
  EXPECT_NE(complaints.find("'1025G' for 'cache': expected a size in bytes up to 1024G, as in 64K, 4M, 1G\n"),
            std::string::npos);
  EXPECT_EQ(read("heaps:65532").heaps, 65532u);
  EXPECT_EQ(read("heaps:3,heaps:auto").heaps, 0u);
  EXPECT_EQ(read("heaps:0").heaps, 0u);
  EXPECT_EQ(complaints, "snug: SNUG_CONF: bad value '0' for 'heaps': expected auto or a number from 1 to 65532\n");
  EXPECT_EQ(read("heaps:65533").heaps, 0u);
  EXPECT_EQ(complaints, "snug: SNUG_CONF: bad value '65533' for 'heaps': expected auto or a number from 1 to 65532\n");
  // Only bytes have a K.
  EXPECT_EQ(read("heaps:4K").heaps, 0u);
  EXPECT_EQ(complaints, "snug: SNUG_CONF: bad value '4K' for 'heaps': expected auto or a number from 1 to 65532\n");
  read("stores:17");
  EXPECT_EQ(complaints, "snug: SNUG_CONF: bad value '17' for 'stores': expected auto or a number from 1 to 16\n");
  EXPECT_EQ(read("purge_after:0").purge_after, 0u);
  EXPECT_EQ(read("purge_after:86400000").purge_after, 86400000u);
  EXPECT_EQ(read("purge_after:86400001").purge_after, 1000u);
  EXPECT_EQ(complaints,
            "snug: SNUG_CONF: bad value '86400001' for 'purge_after': expected milliseconds from 0 to 86400000\n");
  EXPECT_EQ(read("classes:Dense").classes, ClassMap::kDefault);
  EXPECT_EQ(
      complaints,
      "snug: SNUG_CONF: bad value 'Dense' for 'classes': expected default, dense or a map file's path: there is no "
      "such file\n");
  EXPECT_EQ(read("idle_thread:on,idle_thread:off").idle_thread, BackgroundThreadMode::kOff);
  EXPECT_EQ(read("idle_thread:off,idle_thread:auto").idle_thread, BackgroundThreadMode::kAuto);
  EXPECT_EQ(read("idle_thread:1").idle_thread, BackgroundThreadMode::kAuto);
  EXPECT_EQ(complaints, "snug: SNUG_CONF: bad value '1' for 'idle_thread': expected auto, on or off\n");
  EXPECT_EQ(keys, 0u);
}

TEST_F(ConfigTest, ReportsArePathsThatFit) {
  const std::string longest = "/dev" + std::string(1015, '/') + "null";
  EXPECT_EQ(read("report:" + longest).report, longest);
  EXPECT_STREQ(read("report:" + longest + "p").report, "");
  EXPECT_EQ(complaints.rfind("snug: SNUG_CONF: bad value '/dev//", 0), 0u) << complaints;
  EXPECT_LT(complaints.size(), 512u) << "cut, not overrun";
  EXPECT_STREQ(read("report:").report, "");
  EXPECT_EQ(complaints, "snug: SNUG_CONF: bad value '' for 'report': expected a path of 1 to 1023 bytes\n");
}

TEST_F(ConfigTest, ReportsArePathsThatCanBeAppendedTo) {
  std::string folder = testing::TempDir() + "report-XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const std::string absent = folder + "/absent";
  EXPECT_STREQ(read("report:/dev/null").report, "/dev/null");
  EXPECT_EQ(read("report:" + absent).report, absent);
  EXPECT_NE(::access(absent.c_str(), F_OK), 0) << "looked at, not created";
  if (::access(".", W_OK) == 0) {
    EXPECT_STREQ(read("report:no-such-report").report, "no-such-report");
  }
  for (const auto& [path, fault] : {std::pair{absent + "/file", "there is no such folder"},
                                    {absent + "/", "there is no such folder"},
                                    {"/dev/null/file", "there is no such folder"},
                                    {folder, "it is a folder"},
                                    {"/", "it is a folder"},
                                    {".", "it is a folder"}}) {
    EXPECT_STREQ(read("report:" + path).report, "");
    EXPECT_EQ(complaints, "snug: SNUG_CONF: bad value '" + path + "' for 'report': " + fault + "\n");
  }
  ::rmdir(folder.c_str());
}

// A file with the text, gone at the end of the test.
class MapFile {
 public:
  explicit MapFile(const std::string& text) {
    const int file = ::mkstemp(path_.data());
    ::close(file);
    std::ofstream(path_) << text;
  }
  ~MapFile() { ::unlink(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_ = testing::TempDir() + "snug_map_XXXXXX";
};

TEST_F(ConfigTest, ClassesOutOfAFile) {
  // Longer than what is read at once.
  const MapFile file("# " + std::string(1000, '-') + "\n16 8\n1024 4\n65536 1\n");
  const Config config = read("classes:" + file.path() + ",cache:9M");
  EXPECT_EQ(complaints, "");
  EXPECT_EQ(keys, bit("classes") | bit("cache"));
  EXPECT_EQ(config.classes, ClassMap::kFile);
  EXPECT_EQ(config.class_file, file.path());
  EXPECT_EQ(value(config, 0), file.path());
  ASSERT_EQ(config.file_classes.count, 4u);
  EXPECT_EQ(config.file_classes.rows[2].size, 1024u);
  EXPECT_EQ(config.file_classes.rows[2].cached, 4u);
  EXPECT_EQ(read("classes:" + file.path() + ",classes:dense").classes, ClassMap::kDense) << "the last wins";
}

TEST_F(ConfigTest, BadClassFilesAreNamedAndIgnored) {
  const MapFile file("16 8\n8 8\n");
  const Config config = read("classes:" + file.path() + ",cache:9M");
  EXPECT_EQ(complaints, "snug: SNUG_CONF: bad value '" + file.path() +
                            "' for 'classes': line 2: the size is no multiple of 16, or above 1024 of 256, or above "
                            "65536 of 4096\n");
  EXPECT_EQ(config.classes, ClassMap::kDefault);
  EXPECT_STREQ(config.class_file, "");
  EXPECT_EQ(config.cache, 9 * kMiB) << "the rest is read on";
  EXPECT_EQ(keys, bit("cache"));
  EXPECT_EQ(read("classes:dense,classes:" + file.path()).classes, ClassMap::kDense) << "what is in force stays";
}

TEST_F(ConfigTest, FilesThatCannotBeRead) {
  const auto complaint = [this](const std::string& path) {
    EXPECT_EQ(read("classes:" + path).classes, ClassMap::kDefault);
    return complaints;
  };
  const auto expected = [](const std::string& path, const std::string& reason) {
    return "snug: SNUG_CONF: bad value '" + path + "' for 'classes': expected default, dense or a map file's path" +
           reason + "\n";
  };
  EXPECT_EQ(complaint("/nonexistent/map"), expected("/nonexistent/map", ": there is no such file"));
  EXPECT_EQ(complaint("/"), expected("/", ": it is a folder"));
  EXPECT_EQ(complaint(""), expected("", " of 1 to 1023 bytes"));
  EXPECT_EQ(complaint(std::string(1024, 'p')), expected(std::string(256, 'p') + "...", " of 1 to 1023 bytes"));
  EXPECT_EQ(complaint("/dev/null"), "snug: SNUG_CONF: bad value '/dev/null' for 'classes': line 1: no class at all\n");
  EXPECT_NE(complaint("/dev/zero").find("line 1: expected two numbers"), std::string::npos) << complaints;
  errno = 0;
  complaint("/nonexistent");
  EXPECT_EQ(errno, 0) << "malloc's caller sees no error";
}

TEST_F(ConfigTest, UnknownKeysAreNamedWithTheNearest) {
  for (const std::string key : {"", "!", "x", "frobnicate", "CACHE", "cache_of_each_thread_and_of_all_others"}) {
    read(key + ":1");
    EXPECT_EQ(complaints, "snug: SNUG_CONF: unknown key '" + key + "'\n");
    EXPECT_EQ(keys, 0u);
  }
  const char* const mistaken[][2] = {{"retan", "retain"},     {"Cache", "cache"},
                                     {"caches", "cache"},     {"reprot", "report"},
                                     {"idle", "idle_thread"}, {"purge-after", "purge_after"},
                                     {"retain_", "retain"},   {"sizeddelete", "sized_delete"}};
  for (const auto& [key, meant] : mistaken) {
    read(std::string(key) + ":1");
    EXPECT_EQ(complaints, std::string("snug: SNUG_CONF: unknown key '") + key + "': did you mean '" + meant + "'?\n");
    EXPECT_EQ(keys, 0u);
  }
  read("nonsense,retain");
  EXPECT_EQ(complaints,
            "snug: SNUG_CONF: unknown key 'nonsense'\n"
            "snug: SNUG_CONF: bad value '' for 'retain': expected a size in bytes, as in 64K, 4M, 1G\n");
}

// As a process that this one becomes, or starts, would.
TEST_F(ConfigTest, WhatWasComplainedOfIsMarkedInTheEnvironment) {
  const auto read_again = [this] {
    testing::internal::CaptureStderr();
    const Config config = read_config(&keys);
    complaints = testing::internal::GetCapturedStderr();
    return config;
  };
  read("cach:1,retain:2M");
  EXPECT_NE(complaints, "");
  EXPECT_STREQ(::getenv("SNUG_CONF"), "cach:1,retain:2M,!");
  EXPECT_EQ(read_again().retain, 2 * kMiB);
  EXPECT_EQ(complaints, "");
  EXPECT_STREQ(::getenv("SNUG_CONF"), "cach:1,retain:2M,!");

  read("cach:1,!,report:/,retan:1");
  EXPECT_EQ(complaints,
            "snug: SNUG_CONF: bad value '/' for 'report': it is a folder\n"
            "snug: SNUG_CONF: unknown key 'retan': did you mean 'retain'?\n");
  read_again();
  EXPECT_EQ(complaints, "");

  read("cache:1M");
  EXPECT_STREQ(::getenv("SNUG_CONF"), "cache:1M") << "nothing is wrong";
  const std::string longest = std::string(4096 - 10 - 3 - 6, ',') + "cach:1";
  read(longest);
  EXPECT_EQ(::getenv("SNUG_CONF"), longest + ",!");
  read(longest + ",");
  EXPECT_EQ(::getenv("SNUG_CONF"), longest + ",") << "too long to be marked";
}

TEST_F(ConfigTest, WhenProfilesAreWritten) {
  EXPECT_EQ(read("profile_at:+1M,profile_out:p").profile_at, kMiB);
  EXPECT_EQ(read("profile_signal:SIGHUP,profile_out:p").profile_signal, static_cast<uint32_t>(SIGHUP));
  EXPECT_EQ(read("profile_signal:SIGUSR1,profile_out:p").profile_signal, static_cast<uint32_t>(SIGUSR1));
  EXPECT_EQ(read("profile_signal:" + std::to_string(SIGRTMAX) + ",profile_out:p").profile_signal,
            static_cast<uint32_t>(SIGRTMAX));
  EXPECT_EQ(complaints, "");
  for (const char* bad : {"256M", "+", "+1", "+1048575", "-1M", "+1T", "+ 1M", "++1M", ""}) {
    EXPECT_EQ(read(std::string("profile_at:") + bad).profile_at, 0u) << bad;
    EXPECT_EQ(complaints, "snug: SNUG_CONF: bad value '" + std::string(bad) +
                              "' for 'profile_at': expected off, or + and a size in bytes from 1M, as in +256M\n");
  }
  for (const std::string& bad :
       {std::string("0"), std::to_string(SIGKILL), std::to_string(SIGSTOP), std::to_string(SIGSEGV), std::string("32"),
        std::to_string(SIGRTMAX + 1), std::string("4294967306"), std::string("USR2"), std::string("SIGTERM"),
        std::string("sigusr2"), std::string("-1"), std::string("")}) {
    EXPECT_EQ(read("profile_signal:" + bad).profile_signal, 0u) << bad;
    EXPECT_EQ(complaints, "snug: SNUG_CONF: bad value '" + bad +
                              "' for 'profile_signal': expected off, SIGHUP, SIGUSR1, SIGUSR2 or the number of a "
                              "signal that tells of no fault\n");
  }
}

TEST_F(ConfigTest, PrintsEachValue) {
  const Config usual;
  const char* const defaults[] = {"default", "check", "8388608", "auto", "auto", "adaptive", "67108864", "67108864",
                                  "off",     "off",   "off",     "1000", "auto", "off",      "4194304",  "off",
                                  "",        "off",   "off",     "off",  "off",  "",         ""};
  for (size_t i = 0; i < kConfigKeys; ++i) EXPECT_EQ(value(usual, i), defaults[i]);
  const Config set = read(
      "classes:dense,sized_delete:trust,cache:1,heaps:7,stores:16,batch:one,retain:2,retain_large:3K,limit:auto,"
      "soft_limit:1M,pressure:100,purge_after:4,idle_thread:on,check:on,quarantine:5,profile:4K,profile_out:/tmp/p,"
      "profile_at:+2M,profile_signal:10,profile_rt:1M,publish:on,report:/dev/null");
  const char* const values[] = {"dense",  "trust",    "1",   "7",       "16", "one",       "2", "3072",
                                "auto",   "1048576",  "100", "4",       "on", "on",        "5", "4096",
                                "/tmp/p", "+2097152", "10",  "1048576", "on", "/dev/null", ""};
  for (size_t i = 0; i < kConfigKeys; ++i) EXPECT_EQ(value(set, i), values[i]);
}

TEST_F(ConfigTest, PrintedValuesAreCut) {
  const Config usual;
  EXPECT_EQ(value(usual, 0, 8), "default");
  EXPECT_EQ(value(usual, 0, 7), "defaul");
  EXPECT_EQ(value(usual, 0, 1), "");
  EXPECT_EQ(value(usual, 0, 0), "");
  const Config longest = read("report:/dev" + std::string(1015, '/') + "null");
  EXPECT_EQ(value(longest, kConfigKeys - 2).size(), 1023u);
}

// They share the path, so that the last of them is in force, and the other one has no value.
TEST_F(ConfigTest, OfStatisticsAndTheCountTheLastIsWritten) {
  const Config count = read("report:/dev/zero,served:/dev/null");
  EXPECT_STREQ(count.report, "/dev/null");
  EXPECT_EQ(count.reporting, Reporting::kCount);
  EXPECT_EQ(value(count, kConfigKeys - 2), "");
  EXPECT_EQ(value(count, kConfigKeys - 1), "/dev/null");
  const Config refused = read("report:/dev/null,served:/");
  EXPECT_EQ(complaints, "snug: SNUG_CONF: bad value '/' for 'served': it is a folder\n");
  EXPECT_STREQ(refused.report, "/dev/null");
  EXPECT_EQ(refused.reporting, Reporting::kStatistics);
  EXPECT_EQ(value(read("served:/dev/null,report:/dev/zero"), kConfigKeys - 1), "");
}

TEST_F(ConfigTest, EveryKeyIsExplained) {
  for (const ConfigKey& key : kConfigTable) {
    EXPECT_NE(std::string(key.key), "");
    EXPECT_NE(std::string(key.unit), "");
    EXPECT_NE(std::string(key.help), "");
  }
}

}  // namespace
}  // namespace snug
