// Several threads, each with a model of its own, that also hand blocks over to be freed elsewhere.
//
// Between barriers every thread runs its random program; at a barrier all are still, and one checks that no two blocks
// of any two threads overlap, that check(1) holds and that the statistics are the sum of the models.
#include <barrier>
#include <memory>
#include <mutex>
#include <sstream>
#include <thread>

#include <gtest/gtest.h>

#include "effort.h"
#include "isolated_run.h"
#include "program_generator.h"

namespace snug::model {
namespace {

constexpr unsigned kThreads = 4;
constexpr unsigned kRounds = 12;
constexpr unsigned kSecondsPerCase = 1200;

// Blocks on their way from one thread to another, with all that the receiver's model must know.
struct Mailbox {
  std::mutex mutex;
  std::vector<LiveBlock> blocks;
};

class Crew {
 public:
  Crew(Shape shape, uint64_t seed, size_t steps_per_round)
      : shape_(shape), seed_(seed), steps_(steps_per_round), barrier_(kThreads, Judge{this}) {
    snug_get_stats(&baseline_);
    for (unsigned i = 0; i < kThreads; ++i) {
      runners_.push_back(std::make_unique<ProgramRunner>(snug_under_test(), RunOptions{0, 512}));
    }
  }

  Complaint run() {
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < kThreads; ++i) threads.emplace_back([this, i] { work(i); });
    for (std::thread& thread : threads) thread.join();
    return complaint_;
  }

 private:
  struct Judge {
    Crew* crew;
    void operator()() noexcept { crew->judge(); }
  };

  void work(unsigned self) {
    for (unsigned round = 0; round < kRounds; ++round) {
      const Program program = generate(shape_, seed_ * 1000003 + round * kThreads + self, steps_);
      Complaint complaint = run_round(self, program);
      if (complaint) report(self, round, *complaint);
      barrier_.arrive_and_wait();
      if (failed_) return;  // written by judge() before any thread leaves the barrier
    }
    Complaint complaint = drain(self);
    if (complaint) report(self, kRounds, *complaint);
    barrier_.arrive_and_wait();  // no thread sends any more: the last blocks are in the mailboxes or freed
    if (failed_) return;
    complaint = drain(self);
    if (!complaint) complaint = runners_[self]->finish();
    if (complaint) report(self, kRounds, *complaint);
    barrier_.arrive_and_wait();
  }

  Complaint run_round(unsigned self, const Program& program) {
    ProgramRunner& runner = *runners_[self];
    for (size_t i = 0; i < program.size(); ++i) {
      // A trim walks shared structures and empties caches, at a random moment of the other threads.
      if (Complaint complaint = runner.step(program[i])) return complaint;
      if (i % 5 == 0) send(self, program[i].pick);
      if (i % 64 == 0) {
        if (Complaint complaint = drain(self)) return complaint;
      }
    }
    return std::nullopt;
  }

  void send(unsigned self, uint32_t pick) {
    LiveBlock block;
    if (!runners_[self]->release(pick, &block)) return;
    Mailbox& mailbox = mailboxes_[(self + 1 + pick % (kThreads - 1)) % kThreads];
    const std::lock_guard lock(mailbox.mutex);
    mailbox.blocks.push_back(block);
  }

  // Takes what others have sent: their contents are verified, most are freed here, some live on in this model.
  Complaint drain(unsigned self) {
    std::vector<LiveBlock> received;
    {
      const std::lock_guard lock(mailboxes_[self].mutex);
      received.swap(mailboxes_[self].blocks);
    }
    Operation free_newest;
    free_newest.kind = OperationKind::kFree;
    free_newest.choice = Choice::kNewest;
    for (const LiveBlock& block : received) {
      if (Complaint complaint = runners_[self]->adopt(block)) return complaint;
      if (block.seed % 4 == 0) continue;
      if (Complaint complaint = runners_[self]->step(free_newest)) return complaint;
    }
    return std::nullopt;
  }

  void report(unsigned self, unsigned round, const std::string& complaint) {
    const std::lock_guard lock(complaint_mutex_);
    if (complaint_) return;
    complaint_ = "thread " + std::to_string(self) + ", round " + std::to_string(round) + ": " + complaint;
  }

  // Runs in one thread while all others wait at the barrier.
  void judge() {
    const std::lock_guard lock(complaint_mutex_);
    if (!complaint_) complaint_ = judge_all();
    failed_ = complaint_.has_value();
  }

  Complaint judge_all() {
    ReferenceHeap all;
    Complaint complaint;
    uint64_t least = 0;
    uint64_t most = 0;
    const auto add = [&](const LiveBlock& block) {
      if (!complaint) complaint = all.add(block);
    };
    for (const auto& runner : runners_) {
      runner->reference().for_each(add);
      least += runner->least_allocations();
      most += runner->most_allocations();
    }
    for (Mailbox& mailbox : mailboxes_) {
      const std::lock_guard lock(mailbox.mutex);
      for (const LiveBlock& block : mailbox.blocks) add(block);
    }
    if (complaint) return complaint;
    if (const char* broken = snug_check(1)) return std::string("check(): ") + broken;
    snug_stats stats{};
    snug_get_stats(&stats);
    const uint64_t allocations = stats.allocations - baseline_.allocations;
    std::ostringstream out;
    if (stats.blocks_in_use - baseline_.blocks_in_use != all.blocks()) {
      out << "blocks_in_use is " << stats.blocks_in_use - baseline_.blocks_in_use << ", the models hold "
          << all.blocks();
    } else if (!agrees_in_bytes(stats.bytes_in_use - baseline_.bytes_in_use, all.bytes())) {
      out << "bytes_in_use is " << stats.bytes_in_use - baseline_.bytes_in_use << ", the models hold " << all.bytes();
    } else if (allocations < least || allocations > most) {
      out << "allocations is " << allocations << ", the models made " << least << " to " << most;
    } else {
      return std::nullopt;
    }
    return out.str();
  }

  Shape shape_;
  uint64_t seed_;
  size_t steps_;
  std::barrier<Judge> barrier_;
  std::vector<std::unique_ptr<ProgramRunner>> runners_;
  Mailbox mailboxes_[kThreads];
  snug_stats baseline_{};
  std::mutex complaint_mutex_;
  Complaint complaint_;
  bool failed_ = false;
};

struct CrewRun {
  Shape shape;
  size_t steps;
};

class Threads : public testing::TestWithParam<CrewRun> {};

TEST_P(Threads, AgreeAtEveryBarrier) {
  for (uint64_t seed = 1; seed <= kLongSeeds; ++seed) {
    const Complaint complaint = run_in_child(
        [&] { return Crew(GetParam().shape, seed, GetParam().steps / kEffortDivisor).run(); }, kSecondsPerCase);
    ASSERT_EQ(complaint, std::nullopt) << "seed " << seed << ", " << kThreads << " threads: " << *complaint;
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, Threads,
                         testing::Values(CrewRun{{SizeMix::kTiny, Rhythm::kSteady}, 4000},
                                         CrewRun{{SizeMix::kLogUniform, Rhythm::kSteady}, 1500},
                                         CrewRun{{SizeMix::kEdges, Rhythm::kBursts}, 3000},
                                         CrewRun{{SizeMix::kLarge, Rhythm::kSteady}, 200}),
                         [](const auto& info) {
                           return std::string(name_of(info.param.shape.sizes)) + name_of(info.param.shape.rhythm);
                         });

}  // namespace
}  // namespace snug::model
