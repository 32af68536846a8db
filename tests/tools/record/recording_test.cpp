// Recording: what stands where in the file, of a ring that the test brings into the folder and writes itself.
#include "record/recording.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "process/environment.h"
#include "process/temporary_folder.h"
#include "trace/chunk_directory.h"
#include "trace/trace_reader.h"

namespace snug::tool {
namespace {

using recorder::Ring;
using trace::Event;
using trace::Operation;

constexpr std::uint64_t kNoThread = std::uint64_t{1} << 40;  // no thread of the kernel's has this number
// More than the recording takes in one turn.
constexpr std::uint64_t kMany = recorder::kSlots / 4 * 3;
constexpr std::uint64_t kSizeAtEnd = 77;

class RecordingTest : public testing::Test {
 protected:
  RecordingTest() {
    Environment environment;
    recording_.prepare(environment, "/recorder", "");
    const std::string session = environment.get(recorder::kSessionVariable).value_or("");
    const std::string path =
        session.substr(session.rfind(':') + 1) + "/" + recorder::kRingPrefix + std::to_string(getpid()) + ".1";
    const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    EXPECT_EQ(ftruncate(file, sizeof(Ring)), 0);
    ring_ = static_cast<Ring*>(mmap(nullptr, sizeof(Ring), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
    close(file);
    ring_->process = static_cast<std::uint32_t>(getpid());
    ring_->magic.store(recorder::kRingMagic);
    recording_.discover();
  }
  ~RecordingTest() override { munmap(ring_, sizeof(Ring)); }

  void tell(std::uint32_t thread, Operation operation, std::uint64_t address, std::uint64_t size = 0) {
    const std::uint64_t ticket = ring_->next.fetch_add(1);
    recorder::Slot& slot = ring_->slot_of(ticket);
    slot.when = ticket << 8;
    slot.address = address;
    slot.size = size;
    slot.head.store(recorder::head_of(ticket, thread, static_cast<std::uint8_t>(operation)));
  }

  // A thread ends, and is known to be gone while much of what came before has yet to be taken; and then more comes.
  void end_thread_amid_events() {
    tell(2, Operation::kThreadBegin, kNoThread);
    tell(2, Operation::kThreadEnd, 0);
    recording_.collect();
    for (std::uint64_t i = 1; i <= kMany; ++i) tell(1, Operation::kMalloc, i << 12, 8);
    recording_.collect();
    tell(1, Operation::kMalloc, (kMany + 1) << 12, kSizeAtEnd);
  }

  // Where the first event of the kind stands, or the block of that size comes.
  std::ptrdiff_t place_of(Operation operation, std::uint64_t size = 0) {
    if (events_.empty()) read();
    const auto found = std::ranges::find_if(
        events_, [&](const Event& event) { return event.operation == operation && (size == 0 || event.size == size); });
    EXPECT_NE(found, events_.end());
    return found - events_.begin();
  }

  void read() {
    recording_.finish();
    std::string fault;
    const auto source = trace::open_source(path_, fault);
    trace::Damage damage;
    const auto directory = trace::ChunkDirectory::read(*source, damage, fault);
    trace::TraceReader reader(*source, *directory, damage);
    for (Event event; reader.next(event);) events_.push_back(event);
  }

  const TemporaryFolder folder_;
  const std::filesystem::path path_ = folder_.path() / "trace";
  Recording recording_{path_, 0, false};
  Ring* ring_;
  std::vector<Event> events_;
};

TEST_F(RecordingTest, AThreadEndsBeforeWhatCameWhenItWasGoneWhereAllIsSaved) {
  end_thread_amid_events();
  recording_.save_all();
  EXPECT_LT(place_of(Operation::kThreadEnd), place_of(Operation::kMalloc, kSizeAtEnd));
}

TEST_F(RecordingTest, AThreadEndsBeforeWhatCameWhenItWasGoneWhereARecordingPauses) {
  end_thread_amid_events();
  recording_.pause();
  EXPECT_LT(place_of(Operation::kThreadEnd), place_of(Operation::kMalloc, kSizeAtEnd));
}

TEST_F(RecordingTest, AThreadEndsBeforeWhatCameWhenItWasGoneWhereARecordingEnds) {
  end_thread_amid_events();
  EXPECT_LT(place_of(Operation::kThreadEnd), place_of(Operation::kMalloc, kSizeAtEnd));
}

}  // namespace
}  // namespace snug::tool
