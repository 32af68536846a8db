// Writes a trace by name, as no program would make it reliably.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "trace/trace_file.h"

namespace {

using snug::trace::block_id;
using snug::trace::BlockId;
using snug::trace::Event;
using snug::trace::Measure;
using snug::trace::Operation;
using snug::trace::TraceFile;

constexpr std::uint64_t kMany = 200'000;
// Each is two hand-overs: on a machine that has other work, each of them waits for the scheduler.
constexpr std::uint64_t kPingPongs = 2'000;
constexpr std::uint64_t kAlmostAll = UINT64_MAX - 7;  // no multiple of 16 is as large

// Counts times, turns, and the blocks of each thread.
class Writer {
 public:
  explicit Writer(TraceFile& file) : file_(file) {}

  BlockId allocate(std::uint32_t thread, std::uint64_t size) {
    const BlockId block = block_id(thread, ++numbers_[thread]);
    add({.operation = Operation::kMalloc, .thread = thread, .result = block, .size = size});
    return block;
  }
  void allocate_aligned(Operation operation, std::uint64_t size, std::uint64_t alignment) {
    const BlockId block = block_id(1, ++numbers_[1]);
    add({.operation = operation, .thread = 1, .result = block, .size = size, .alignment = alignment});
  }
  void free(std::uint32_t thread, BlockId block) {
    add({.operation = Operation::kFree,
         .takes_turn = snug::trace::thread_of(block) != thread,
         .thread = thread,
         .block = block});
  }
  void begin(std::uint32_t thread, std::uint32_t parent) {
    add({.operation = Operation::kThreadBegin, .takes_turn = true, .thread = thread, .values = {thread, parent}});
  }
  void end(std::uint32_t thread) { add({.operation = Operation::kThreadEnd, .takes_turn = true, .thread = thread}); }
  void work(std::uint32_t thread, std::uint64_t calls, std::uint64_t size) {
    for (std::uint64_t i = 0; i < calls; ++i) free(thread, allocate(thread, size));
  }
  // So few calls that they are of one window, and a tenth of a second where all of a block is written.
  void work_long(std::uint32_t thread) { work(thread, 100, 4 << 20); }
  void see_resident(std::uint64_t bytes) { see(Measure::kResident, bytes); }
  void see_heap(std::uint64_t bytes) { see(Measure::kHeap, bytes); }
  void pass_time(std::uint64_t steps) { time_ += steps; }

 private:
  void see(Measure measure, std::uint64_t bytes) {
    add({.operation = Operation::kSample, .thread = 1, .values = {static_cast<std::uint64_t>(measure), bytes}});
  }
  void add(Event event) {
    event.time = ++time_;
    if (event.takes_turn) ++turn_;
    event.turn = turn_;
    file_.add(event);
  }

  static constexpr std::uint32_t kThreads = 1 << 14;
  TraceFile& file_;
  std::uint64_t time_ = 0;
  std::uint64_t turn_ = 0;
  std::uint64_t numbers_[kThreads] = {};
};

// Thread 3 frees what thread 2 allocates at the end of long work.
void hand_over(Writer& writer) {
  writer.begin(2, 1);
  writer.begin(3, 1);
  writer.work_long(2);
  writer.free(3, writer.allocate(2, 1000));
}

// Thread 2 frees a block of the first thread's at the end of long work; then thread 3 another one.
void turns(Writer& writer) {
  const BlockId first = writer.allocate(1, 1000);
  const BlockId second = writer.allocate(1, 2000);
  writer.begin(2, 1);
  writer.begin(3, 1);
  writer.work_long(2);
  writer.free(2, first);
  writer.free(3, second);
}

// Slots are used again: of the thread that frees blocks of another one's, and of that which allocates.
void ping_pong(Writer& writer) {
  writer.begin(2, 1);
  for (std::uint64_t i = 0; i < kPingPongs; ++i) {
    writer.free(2, writer.allocate(1, 100));
    writer.free(1, writer.allocate(2, 200));
    writer.free(2, writer.allocate(2, 300));
  }
}

// Thousands of threads, some of which outlive others.
void short_threads(Writer& writer) {
  for (std::uint32_t thread = 2; thread < 6000; ++thread) {
    writer.begin(thread, thread == 2 ? 1 : thread - 1);
    writer.free(thread, writer.allocate(thread, thread));
    if (thread > 10) writer.end(thread - 8);
  }
}

// The place of a thread that has ended is another one's in the next window.
void births(Writer& writer) {
  for (std::uint32_t thread = 2; thread < 300; ++thread) {
    writer.begin(thread, 1);
    writer.work(thread, 2500, 64);
    writer.work(1, 50, 64);
    writer.end(thread);
  }
}

// Takes half a second.
void slow(Writer& writer) {
  for (int i = 0; i < 50; ++i) {
    writer.pass_time(10'000'000 / snug::trace::kNanosecondsPerStep);
    writer.work(1, 1, 64);
  }
}

// Two threads free all that they have, stand still for seconds, and go on.
void idle(Writer& writer, std::uint64_t seconds) {
  constexpr int kBlocks = 30'000;
  std::vector<BlockId> blocks;
  writer.work(1, 1, 2000);
  for (std::uint32_t thread = 2; thread < 4; ++thread) {
    writer.begin(thread, 1);
    blocks.clear();
    for (int i = 0; i < kBlocks; ++i) blocks.push_back(writer.allocate(thread, 1000));
    for (const BlockId block : blocks) writer.free(thread, block);
  }
  writer.pass_time(seconds * 1'000'000'000 / snug::trace::kNanosecondsPerStep);
  for (std::uint32_t thread = 1; thread < 4; ++thread) writer.work(thread, 1, 2000);
  writer.see_resident(12 << 20);
}

// Blocks that the allocator itself hardly touches.
void large(Writer& writer) {
  for (int i = 0; i < 64; ++i) writer.allocate(1, 1 << 20);
}

// Of many blocks few stay, far from each other, and others come, of another size.
void sparse(Writer& writer) {
  constexpr int kBlocks = 100'000;
  std::vector<BlockId> blocks;
  for (int i = 0; i < kBlocks; ++i) blocks.push_back(writer.allocate(1, 200));
  for (int i = 0; i < kBlocks; ++i)
    if (i % 16 != 0) writer.free(1, blocks[static_cast<std::size_t>(i)]);
  for (int i = 0; i < 3000; ++i) writer.allocate(1, 5000);
}

// More than any machine has.
void immense(Writer& writer) { writer.allocate(1, std::uint64_t{1} << 60); }

// And of a larger machine, where it was touched.
void outgrown(Writer& writer) {
  immense(writer);
  writer.see_heap(std::uint64_t{1} << 60);
  writer.see_resident(std::uint64_t{1} << 60);
}

// What no allocator has: operators new that have thrown, which here they must not.
void impossible(Writer& writer) {
  for (const Operation operation : {Operation::kNew, Operation::kNewArray})
    writer.allocate_aligned(operation, kAlmostAll, 0);
  for (const Operation operation : {Operation::kNewAligned, Operation::kNewArrayAlignedNothrow}) {
    writer.allocate_aligned(operation, 100, 0);
    writer.allocate_aligned(operation, 100, 3);
    writer.allocate_aligned(operation, kAlmostAll, 16);
  }
}

// 2 N events; a quarter of the blocks lives on for a while.
void many(Writer& writer, std::uint64_t count) {
  constexpr std::uint64_t kKept = 1 << 16;
  static BlockId kept[kKept];
  for (std::uint64_t i = 0; i < count; ++i) {
    const BlockId block = writer.allocate(1, 16 + i * 7919 % 500);
    BlockId goes = block;
    if (i % 4 == 0) std::swap(goes, kept[i / 4 % kKept]);
    if (goes != BlockId::kNone) writer.free(1, goes);
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) return EXIT_FAILURE;
  std::FILE* const stream = std::fopen(arguments[2], "we");
  if (stream == nullptr) return EXIT_FAILURE;
  TraceFile file(stream, {});
  static Writer writer(file);
  const std::string name = arguments[1];
  if (name == "outgrown") file.add_facts("touched\t8192\n");
  if (name == "hand_over") hand_over(writer);
  if (name == "turns") turns(writer);
  if (name == "ping_pong") ping_pong(writer);
  if (name == "short_threads") short_threads(writer);
  if (name == "births") births(writer);
  if (name == "slow") slow(writer);
  if (name == "idle") idle(writer, count > 3 ? std::strtoull(arguments[3], nullptr, 10) : 5);
  if (name == "large") large(writer);
  if (name == "sparse") sparse(writer);
  if (name == "immense") immense(writer);
  if (name == "outgrown") outgrown(writer);
  if (name == "impossible") impossible(writer);
  if (name == "many") many(writer, count > 3 ? std::strtoull(arguments[3], nullptr, 10) : kMany);
  const bool is_whole = file.finish();
  return std::fclose(stream) == 0 && is_whole ? EXIT_SUCCESS : EXIT_FAILURE;
}
