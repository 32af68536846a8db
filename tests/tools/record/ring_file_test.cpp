// RingFile: what the reader of a ring does about its process, on rings that the test writes itself.
#include "record/ring_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/temporary_folder.h"

namespace snug::tool {
namespace {

using recorder::kSlots;
using recorder::Ring;

class RingFileTest : public testing::Test {
 protected:
  RingFileTest() : path_(folder_.path() / "ring.1.0") {
    const int file = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    EXPECT_EQ(ftruncate(file, sizeof(Ring)), 0);
    void* const memory = mmap(nullptr, sizeof(Ring), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    EXPECT_NE(memory, MAP_FAILED);
    close(file);
    ring_ = static_cast<Ring*>(memory);
    ring_->process = static_cast<std::uint32_t>(getpid());
    ring_->magic.store(recorder::kRingMagic);
  }
  ~RingFileTest() override { munmap(ring_, sizeof(Ring)); }
  RingFileTest(const RingFileTest&) = delete;
  RingFileTest& operator=(const RingFileTest&) = delete;

  void fill(std::uint64_t ticket) { ring_->slot_of(ticket).head.store(recorder::head_of(ticket, 1, 1)); }

  TemporaryFolder folder_;
  const std::filesystem::path path_;
  Ring* ring_ = nullptr;
};

TEST_F(RingFileTest, PassesOverASlotThatStaysEmptyInAFullRing) {
  std::optional<RingFile> file = RingFile::open(path_);
  ASSERT_TRUE(file.has_value());
  const auto ignore = [](const recorder::RingEvent&) {};
  const std::chrono::steady_clock::time_point begin{};
  ring_->next.store(kSlots / 2);
  for (std::uint64_t ticket = 1; ticket < kSlots; ++ticket) fill(ticket);
  EXPECT_EQ(file->drain(kSlots, ignore), 0u);
  EXPECT_FALSE(file->pass_over(begin));
  EXPECT_FALSE(file->pass_over(begin + 2 * RingFile::kPatience)) << "nobody waits";
  ring_->next.store(kSlots);
  EXPECT_FALSE(file->pass_over(begin + 3 * RingFile::kPatience));
  EXPECT_FALSE(file->pass_over(begin + 4 * RingFile::kPatience - std::chrono::milliseconds(1)));
  EXPECT_TRUE(file->pass_over(begin + 4 * RingFile::kPatience));
  EXPECT_EQ(ring_->consumed.load(), 1u);
  EXPECT_EQ(file->drain(kSlots, ignore), kSlots - 1);
  EXPECT_EQ(file->drain_rest(ignore), 1u) << "it is told";
}

// The ring lies in the program's memory: a store gone wild may hit it.
TEST_F(RingFileTest, GivesAwayNoMoreThanARingHoldsThoughTheNextTicketIsWild) {
  std::optional<RingFile> file = RingFile::open(path_);
  ASSERT_TRUE(file.has_value());
  std::size_t given = 0;
  const auto count = [&given](const recorder::RingEvent&) { ++given; };
  for (std::uint64_t ticket = 0; ticket < 3; ++ticket) fill(ticket);
  ring_->next.store(3);
  EXPECT_EQ(file->drain(2, count), 2u);
  for (const std::uint64_t wild : {std::uint64_t{0}, UINT64_MAX, std::uint64_t{1} << 40}) {
    ring_->next.store(wild);
    EXPECT_LE(file->drain_rest(count), kSlots);
  }
  EXPECT_EQ(given, 3u);
}

TEST_F(RingFileTest, KnowsWhetherTheProcessHasEnded) {
  std::optional<RingFile> file = RingFile::open(path_);
  ASSERT_TRUE(file.has_value());
  EXPECT_FALSE(file->has_ended());
}

// Such a number is refused, as it is where no descriptor is left: that says nothing of the process.
TEST_F(RingFileTest, AProcessThatCannotBeWatchedHasNotEnded) {
  ring_->process = 0;
  std::optional<RingFile> file = RingFile::open(path_);
  ASSERT_TRUE(file.has_value());
  EXPECT_FALSE(file->has_ended());
  ring_->process = static_cast<std::uint32_t>(getpid());
  EXPECT_FALSE(file->has_ended());
}

TEST_F(RingFileTest, AProcessThatIsNotThereHasEnded) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  ring_->process = static_cast<std::uint32_t>(child);
  std::optional<RingFile> file = RingFile::open(path_);
  ASSERT_TRUE(file.has_value());
  EXPECT_TRUE(file->has_ended());
}

TEST_F(RingFileTest, AFileThatIsGoneByNowIsNone) {
  std::filesystem::remove(path_);
  EXPECT_FALSE(RingFile::open(path_).has_value());
}

TEST_F(RingFileTest, NobodyWaitsForARingThatIsReadNoMore) {
  std::optional<RingFile> file = RingFile::open(path_);
  ASSERT_TRUE(file.has_value());
  ring_->state.store(recorder::RingState::kOn);
  file.reset();
  EXPECT_EQ(ring_->state.load(), recorder::RingState::kAbandoned);
}

}  // namespace
}  // namespace snug::tool
