// profile_test.cc: what profile.h says of the sampled profile, and of the hooks of other profilers.
#include <gtest/gtest.h>
#include <snug/profile.h>
#include <snug/snug.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace {

constexpr std::size_t kDistance = 4096;

std::string written(int format) {
  const int file = memfd_create("profile", 0);
  EXPECT_EQ(snug_profile_write(file, format), 0);
  std::string text(static_cast<std::size_t>(lseek(file, 0, SEEK_CUR)), '\0');
  EXPECT_EQ(pread(file, text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
  close(file);
  return text;
}

// Whether it is a sequence of fields as protocol buffers have them: numbers, and bytes with their length before them.
bool is_message(const std::string& text) {
  std::size_t at = 0;
  const auto number = [&text, &at] {
    std::uint64_t value = 0;
    for (unsigned shift = 0; at < text.size() && shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(text[at++]);
      value |= std::uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) break;
    }
    return value;
  };
  while (at < text.size()) {
    const std::uint64_t kind = number() & 7;
    if (kind != 0 && kind != 2) return false;
    const std::uint64_t value = number();
    if (kind == 2) at += value;
  }
  return at == text.size() && !text.empty();
}

// The sum of what is live, of all stacks.
double live_bytes() {
  const std::string text = written(SNUG_PROFILE_COLLAPSED);
  double sum = 0;
  for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
    sum += std::stod(text.substr(text.find(' ', at)));
  return sum;
}

std::vector<void*> make_many(std::size_t count) {
  std::vector<void*> blocks(count);
  for (void*& block : blocks) block = snug_malloc(1000);
  return blocks;
}

// What the hooks have been told, in memory of libc's own that is not sampled.
struct Told {
  std::map<uint64_t, const void*> live;
  double bytes = 0;
  double weight = 0;
  uint64_t next = 1;

  static uint64_t sampled(void* context, const snug_sample* sample) {
    Told& told = *static_cast<Told*>(context);
    told.live[told.next] = sample->block;
    told.weight += sample->weight;
    told.bytes += sample->weight * static_cast<double>(sample->size);
    errno = 1;  // it is kept
    return told.next++;
  }
  static void freed(void* context, uint64_t tag, void* block) {
    Told& told = *static_cast<Told*>(context);
    EXPECT_EQ(told.live[tag], block);
    EXPECT_EQ(told.live.erase(tag), 1u);
    errno = 2;
  }
};
// As long as the process: blocks that it has tagged are told to it later, too.
Told told;
constexpr snug_sampler kSampler{&told, Told::sampled, Told::freed};

class Profile : public testing::Test {
 protected:
  ~Profile() override {
    snug_profile_stop();
    snug_set_sampler(nullptr);
    EXPECT_EQ(snug_check(1), nullptr);
  }
};

TEST_F(Profile, is_off_until_it_is_started_and_may_have_any_distance) {
  snug_profile_stop();
  EXPECT_EQ(snug_profile_distance(), 0u);
  for (const std::size_t distance : {std::size_t{1} << 10, SNUG_PROFILE_DISTANCE, std::size_t{1} << 30}) {
    EXPECT_EQ(snug_profile_start(distance), 0);
    EXPECT_EQ(snug_profile_distance(), distance);
  }
  snug_profile_stop();
  EXPECT_EQ(snug_profile_distance(), 0u);
}

TEST_F(Profile, refuses_distances_out_of_bounds) {
  ASSERT_EQ(snug_profile_start(kDistance), 0);
  for (const std::size_t distance : {std::size_t{0}, std::size_t{1023}, (std::size_t{1} << 30) + 1, SIZE_MAX}) {
    errno = 0;
    EXPECT_EQ(snug_profile_start(distance), -1);
    EXPECT_EQ(errno, EINVAL);
    EXPECT_EQ(snug_profile_distance(), kDistance) << "as before";
  }
}

TEST_F(Profile, shows_what_is_live) {
  ASSERT_EQ(snug_profile_start(kDistance), 0);
  const double before = live_bytes();
  std::vector<void*> blocks = make_many(20'000);
  EXPECT_NEAR(live_bytes() - before, 20e6, 4e6);
  // What was sampled leaves as its blocks are freed, on or off; what comes while it is off is not in it.
  snug_profile_stop();
  std::vector<void*> later = make_many(20'000);
  EXPECT_NEAR(live_bytes() - before, 20e6, 4e6);
  snug_free_batch(blocks.data(), blocks.size());
  EXPECT_NEAR(live_bytes() - before, 0, 2e5);
  snug_free_batch(later.data(), later.size());
}

TEST_F(Profile, is_written_from_where_the_descriptor_stands) {
  ASSERT_EQ(snug_profile_start(kDistance), 0);
  const int file = memfd_create("profile", 0);
  ASSERT_EQ(write(file, "before", 6), 6);
  EXPECT_EQ(snug_profile_write(file, SNUG_PROFILE_PPROF), 0);
  EXPECT_GT(lseek(file, 0, SEEK_CUR), 6);
  char start[6];
  EXPECT_EQ(pread(file, start, 6, 0), 6);
  EXPECT_EQ(std::string(start, 6), "before");
  close(file);
  EXPECT_TRUE(is_message(written(SNUG_PROFILE_PPROF)));
  EXPECT_FALSE(is_message(written(SNUG_PROFILE_COLLAPSED)));
}

TEST(ProfileWrite, refuses_what_was_never_started_unknown_formats_and_bad_descriptors) {
  if (snug_profile_write(-1, SNUG_PROFILE_PPROF) == -1 && errno != EBADF) {
    EXPECT_EQ(errno, ENODATA);
  }
  ASSERT_EQ(snug_profile_start(kDistance), 0);
  errno = 0;
  EXPECT_EQ(snug_profile_write(1, 2), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(snug_profile_write(-1, SNUG_PROFILE_PPROF), -1);
  EXPECT_EQ(errno, EBADF);
  snug_profile_stop();
}

TEST_F(Profile, tells_each_sample_once_and_its_end_once) {
  snug_set_sampler(&kSampler);
  ASSERT_EQ(snug_profile_start(kDistance), 0);
  errno = 4711;
  std::vector<void*> blocks = make_many(20'000);
  EXPECT_EQ(errno, 4711) << "it is kept for them";
  EXPECT_NEAR(told.bytes, 20e6, 4e6);
  EXPECT_NEAR(told.weight, 20e3, 4e3);
  EXPECT_GT(told.live.size(), 1000u);
  // Another sampler, or none: those that were tagged are told to the first.
  snug_set_sampler(nullptr);
  snug_free_batch(blocks.data(), blocks.size());
  EXPECT_EQ(errno, 4711);
  EXPECT_LT(told.live.size(), 10u) << "but for the vector's and the map's own";
}

TEST_F(Profile, takes_any_of_the_hooks_for_null) {
  static constexpr snug_sampler kNeither{nullptr, nullptr, nullptr};
  static constexpr snug_sampler kFirst{nullptr, [](void*, const snug_sample*) { return uint64_t{1}; }, nullptr};
  for (const snug_sampler* sampler : {&kNeither, &kFirst}) {
    snug_set_sampler(sampler);
    ASSERT_EQ(snug_profile_start(kDistance), 0);
    std::vector<void*> blocks = make_many(1000);
    snug_free_batch(blocks.data(), blocks.size());
  }
}

}  // namespace
