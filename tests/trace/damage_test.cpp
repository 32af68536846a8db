// Damage: every byte of a small trace changed, every length that it may be cut to, chunks out of their place. Each is
// told, or changes nothing; what is whole is read.
#include <gtest/gtest.h>

#include <algorithm>

#include "made_up_trace.h"
#include "trace/checksum.h"
#include "trace/compression.h"
#include "whole_file.h"

namespace snug::trace {
namespace {

Bytes small_trace(int level) {
  return write_trace(MadeUpTrace(3, 120, 3).events, {.level = level, .chunk_bytes = 300});
}

Bytes without_index(Bytes bytes) {
  const auto trailer = part_at<Trailer>(bytes.data() + bytes.size() - sizeof(Trailer));
  bytes.resize(trailer.index);
  return bytes;
}

bool is_told(const ReadTrace& read) { return !read.refusal.empty() || !read.faults.empty(); }

// Of `whole` some are left out, the rest are the same in the same order.
bool is_part_of(const std::vector<KeptEvent>& part, const std::vector<KeptEvent>& whole) {
  auto at = whole.begin();
  for (const KeptEvent& event : part) {
    at = std::find(at, whole.end(), event);
    if (at == whole.end()) return false;
    ++at;
  }
  return true;
}

void sweep(const Bytes& bytes) {
  const ReadTrace whole = read_trace(bytes);
  ASSERT_FALSE(is_told(whole));
  std::size_t told = 0;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (const std::uint8_t change : {0x01, 0x80, 0xff, int{bytes[at]}}) {
      if (change == 0) continue;
      Bytes damaged = bytes;
      damaged[at] ^= change;
      const ReadTrace read = read_trace(damaged);
      if (is_told(read))
        ++told;
      else
        ASSERT_TRUE(read.events == whole.events && read.facts == whole.facts) << "byte " << at;
      if (!read.refusal.empty()) continue;
      ASSERT_TRUE(is_part_of(read.events, whole.events)) << "byte " << at;
      ASSERT_LE(read.damaged_chunks, 2u) << "byte " << at;
    }
  }
  EXPECT_GT(told, bytes.size());  // most changes are
}

TEST(Damage, EachByteOfPlainChunks) { sweep(small_trace(0)); }
TEST(Damage, EachByteOfCompressedChunks) { sweep(small_trace(3)); }
TEST(Damage, EachByteWithoutAnIndex) { sweep(without_index(small_trace(3))); }

TEST(Damage, TheRestIsRead) {
  Bytes bytes = without_index(small_trace(0));
  const ReadTrace whole = read_trace(bytes);
  const std::size_t second = sizeof(FileHeader) + part_at<ChunkHeader>(bytes.data() + sizeof(FileHeader)).span;
  for (const std::size_t at : {second + 9, second + sizeof(ChunkHeader) + 5}) {  // the header, then the payload
    Bytes damaged = bytes;
    damaged[at] ^= 4;
    const ReadTrace read = read_trace(damaged);
    EXPECT_EQ(read.damaged_chunks, 1u);
    ASSERT_FALSE(read.faults.empty());
    EXPECT_EQ(read.faults.front().substr(0, read.faults.front().find(':')), std::to_string(second));
    const std::size_t lost = part_at<ChunkHeader>(bytes.data() + second).events;
    EXPECT_EQ(read.events.size(), whole.events.size() - lost);
  }
}

TEST(Damage, AnIndexStandsInForHeaders) {
  Bytes bytes = small_trace(3);
  const ReadTrace whole = read_trace(bytes);
  bytes[sizeof(FileHeader) + 9] ^= 4;
  const ReadTrace read = read_trace(bytes);
  EXPECT_FALSE(is_told(read));
  EXPECT_TRUE(read.events == whole.events);
}

// A file may end anywhere. Each chunk that is there to its last byte is read, and no other; where the file ends within
// one, that is told.
TEST(Damage, EachLength) {
  for (const int level : {0, 3}) {
    const Bytes bytes = small_trace(level);
    const ReadTrace whole = read_trace(bytes);
    const std::size_t end = without_index(bytes).size();
    std::size_t begin = sizeof(FileHeader);  // of the chunk that the file ends in
    std::size_t events = 0;                  // in the chunks that are whole
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      const ReadTrace read = read_trace({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length)});
      ASSERT_FALSE(read.has_index) << length;
      ASSERT_EQ(read.refusal.empty(), length >= sizeof(FileHeader)) << length;
      ASSERT_TRUE(is_part_of(read.events, whole.events)) << length;
      if (length < begin) continue;
      const auto chunk = part_at<ChunkHeader>(bytes.data() + begin);
      if (begin < end && length == begin + sizeof chunk + chunk.stored_bytes && chunk.kind == ChunkKind::kEvents)
        events += chunk.events;
      if (begin < end && length == begin + chunk.span) begin += chunk.span;
      ASSERT_EQ(read.events.size(), events) << length;
      if (begin < end || length == begin) {
        ASSERT_EQ(is_told(read), length != begin) << length;
      }
    }
    EXPECT_EQ(events, whole.events.size());
  }
}

TEST(Damage, OtherVersionsAreRefused) {
  Bytes bytes = small_trace(0);
  bytes[8] = 4;
  EXPECT_EQ(read_trace(bytes).refusal, "version 4 of the format; this reader knows versions 1 to 3");
  bytes[8] = 0;
  EXPECT_EQ(read_trace(bytes).refusal, "version 0 of the format; this reader knows versions 1 to 3");
  EXPECT_EQ(read_trace({'a', '\t', '1'}).refusal, "it is no trace: it is shorter than a trace's header");
  EXPECT_EQ(read_trace(Bytes(100, 'x')).refusal, "it is no trace: it does not begin as one");
}

TEST(Damage, AMissingChunkIsCounted) {
  const Bytes bytes = without_index(small_trace(0));
  const std::size_t first = sizeof(FileHeader) + part_at<ChunkHeader>(bytes.data() + sizeof(FileHeader)).span;
  const std::size_t second = first + part_at<ChunkHeader>(bytes.data() + first).span;
  Bytes shorter(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(first));
  shorter.insert(shorter.end(), bytes.begin() + static_cast<std::ptrdiff_t>(second), bytes.end());
  const ReadTrace read = read_trace(shorter);
  EXPECT_EQ(read.missing_chunks, 1u);
  EXPECT_EQ(read.damaged_chunks, 0u);
}

TEST(Damage, AChunkThatIsThereTwiceIsReadOnce) {
  Bytes bytes = without_index(small_trace(0));
  const ReadTrace whole = read_trace(bytes);
  const std::size_t first = sizeof(FileHeader) + part_at<ChunkHeader>(bytes.data() + sizeof(FileHeader)).span;
  const std::size_t second = first + part_at<ChunkHeader>(bytes.data() + first).span;
  const Bytes again(bytes.begin() + static_cast<std::ptrdiff_t>(first),
                    bytes.begin() + static_cast<std::ptrdiff_t>(second));
  bytes.insert(bytes.end(), again.begin(), again.end());
  const ReadTrace read = read_trace(bytes);
  EXPECT_EQ(read.damaged_chunks, 1u);
  EXPECT_TRUE(read.events == whole.events);
}

// The lengths that a hostile header may give: checksums are right.
TEST(Damage, HostileLengths) {
  const Bytes bytes = small_trace(3);
  std::size_t at = sizeof(FileHeader);
  const auto chunk = [&bytes, &at] { return part_at<ChunkHeader>(bytes.data() + at); };
  while (chunk().kind != ChunkKind::kEvents || chunk().codec != Codec::kZstd) at += chunk().span;
  const auto with = [&bytes, at](auto change) {
    Bytes changed = without_index(bytes);
    auto header = part_at<ChunkHeader>(changed.data() + at);
    change(header);
    header.begin_checksum = begin_checksum_of(header);
    if (header.stored_bytes < 1000) header.end_checksum = end_checksum_of(header, changed.data() + at + sizeof header);
    std::memcpy(changed.data() + at, &header, sizeof header);
    return read_trace(changed);
  };
  EXPECT_FALSE(is_told(with([](ChunkHeader&) {})));
  EXPECT_TRUE(is_told(with([](ChunkHeader& header) { header.plain_bytes = UINT32_MAX; })));
  EXPECT_TRUE(is_told(with([](ChunkHeader& header) { header.plain_bytes += 1; })));
  EXPECT_TRUE(is_told(with([](ChunkHeader& header) { header.plain_bytes = 0; })));
  EXPECT_TRUE(is_told(with([](ChunkHeader& header) { header.stored_bytes = UINT32_MAX; })));
  EXPECT_TRUE(is_told(with([](ChunkHeader& header) { header.events += 1; })));
  EXPECT_TRUE(is_told(with([](ChunkHeader& header) { header.span = 0; })));
  EXPECT_TRUE(is_told(with([](ChunkHeader& header) { header.span = 8; })));
  const ReadTrace endless = with([](ChunkHeader& header) { header.span = UINT32_MAX - 7; });
  EXPECT_EQ(endless.events.size(), read_trace(bytes).events.size() - chunk().events);  // it does not hide the rest
  EXPECT_TRUE(is_told(with([](ChunkHeader& header) { header.codec = Codec{9}; })));
  EXPECT_TRUE(is_told(with([](ChunkHeader& header) { header.kind = ChunkKind{9}; })));
}

// A small file must not make its reader take much memory: what is more than can be is told, and not held.
TEST(Damage, PayloadsAndFactsHaveBounds) {
  std::vector<Event> events;
  for (std::uint64_t i = 1; i <= 400'000; ++i)
    events.push_back({.operation = Operation::kMalloc, .thread = 1, .result = block_id(1, i), .size = 8});
  EXPECT_FALSE(is_told(read_trace(write_trace(events, {.chunk_bytes = kMostPayload / 2}))));
  const ReadTrace large = read_trace(write_trace(events, {.chunk_bytes = kMostPayload + 1}));
  EXPECT_TRUE(is_told(large));
  EXPECT_LT(large.events.size(), events.size());

  char* memory = nullptr;
  std::size_t count = 0;
  std::FILE* const file = ::open_memstream(&memory, &count);
  TraceFile trace(file, {});
  for (int i = 0; i < 3; ++i) trace.add_facts(std::string(kMostFacts / 2, 'f'));
  EXPECT_TRUE(trace.finish());
  std::fclose(file);
  const ReadTrace facts = read_trace(Bytes(memory, memory + count));
  std::free(memory);
  EXPECT_TRUE(is_told(facts));
  EXPECT_EQ(facts.facts.size(), kMostFacts);
}

// A header may promise a mebibyte for a frame of some bytes, and a file have thousands of those.
TEST(Damage, AFrameOfAnotherLengthIsRefusedWithoutRoom) {
  const Bytes plain(1000, 7);
  const std::span<const std::uint8_t> stored = compress(plain, 3);
  Bytes taken;
  EXPECT_FALSE(decompress(stored, kMostPayload, taken));
  EXPECT_EQ(taken.capacity(), 0u);
  EXPECT_TRUE(decompress(stored, plain.size(), taken));
  EXPECT_EQ(taken, plain);
}

// What lies between chunks is read once, in however many places it lies.
TEST(Damage, ASearchReadsTheFileOnce) {
  class CountingSource final : public Source {
   public:
    explicit CountingSource(std::span<const std::uint8_t> bytes) : source_(bytes) {}
    std::uint64_t size() const override { return source_.size(); }
    bool read(std::uint64_t offset, void* to, std::size_t count) override {
      bytes_read += count;
      return source_.read(offset, to, count);
    }
    std::uint64_t bytes_read = 0;

   private:
    MemorySource source_;
  };
  FileHeader header;
  header.checksum = checksum_of(header);
  ChunkHeader chunk;
  chunk.magic = kChunkMagic;
  chunk.kind = ChunkKind::kFacts;
  chunk.span = sizeof chunk;
  chunk.begin_checksum = begin_checksum_of(chunk);
  Bytes bytes;
  const auto add = [&bytes](const auto& part) {
    const auto* const begin = reinterpret_cast<const std::uint8_t*>(&part);
    bytes.insert(bytes.end(), begin, begin + sizeof part);
  };
  add(header);
  for (int i = 0; i < 5000; ++i) {
    add(chunk);
    add(std::uint64_t{1});
  }
  CountingSource source(bytes);
  Damage damage;
  std::string refusal;
  const auto directory = ChunkDirectory::read(source, damage, refusal);
  ASSERT_TRUE(directory.has_value());
  EXPECT_EQ(directory->chunks().size(), 5000u);
  EXPECT_EQ(damage.damaged_chunks(), 5000u);
  EXPECT_LT(source.bytes_read, 4 * bytes.size());
}

// Payloads that no writer makes, with heads, varints and blocks that cannot be.
TEST(Damage, WhatIsNoEventIsRefused) {
  const auto decoded = [](const Bytes& payload) {
    ChunkHeader header;
    header.thread = 1;
    header.number = 3;
    EventDecoder decoder(header, payload);
    Event event;
    return decoder.next(event);
  };
  const auto code = [](Operation operation, int bits = 0) { return static_cast<std::uint8_t>(int(operation) | bits); };
  const std::uint8_t free = code(Operation::kFree);
  EXPECT_EQ(decoded({}), Decoded::kEnd);
  EXPECT_EQ(decoded({0, 1, 2}), Decoded::kEnd);
  EXPECT_EQ(decoded({free, 0, 2 << 1}), Decoded::kEvent);
  EXPECT_EQ(decoded({free, 0, 3 << 1}), Decoded::kDamaged);  // block 0 of the thread
  EXPECT_EQ(decoded({free, 0, 4 << 1}), Decoded::kDamaged);
  EXPECT_EQ(decoded({free, 0, 1, 0}), Decoded::kDamaged);  // block 0 of thread 0
  EXPECT_EQ(decoded({free, 0}), Decoded::kDamaged);
  EXPECT_EQ(decoded({code(Operation::kFree, kRefusedBit), 0, 0}), Decoded::kDamaged);
  EXPECT_EQ(decoded({code(Operation::kMalloc, kTurnBit), 0, 0, 8}), Decoded::kDamaged);  // a turn that does not move
  EXPECT_EQ(decoded({code(Operation::kMalloc, kTurnBit), 3, 0, 8}), Decoded::kEvent);
  EXPECT_EQ(decoded({code(Operation::kNumber), 0, 0}), Decoded::kDamaged);
  EXPECT_EQ(decoded({static_cast<std::uint8_t>(kOperations), 0}), Decoded::kDamaged);
  Bytes most = {code(Operation::kMalloc), 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1};
  EXPECT_EQ(decoded(most), Decoded::kEvent);
  most.back() = 2;  // a size of 65 bits
  EXPECT_EQ(decoded(most), Decoded::kDamaged);
  EXPECT_EQ(decoded({code(Operation::kExec), 0, 5, 'a', 'b', 'c', 'd'}), Decoded::kDamaged);
}

// What a writer leaves that was killed is read to its last whole event, whatever stands behind.
TEST(Damage, AnOpenChunkEndsWhereNoEventIs) {
  std::vector<Event> events;
  for (std::uint64_t i = 1; i <= 10; ++i)
    events.push_back({.operation = Operation::kMalloc, .thread = 1, .time = i, .result = block_id(1, i), .size = i});
  Bytes bytes = without_index(write_trace(events, {.level = 0}));
  const std::size_t begin = sizeof(FileHeader) + part_at<ChunkHeader>(bytes.data() + sizeof(FileHeader)).span;
  const std::size_t end = begin + sizeof(ChunkHeader) + 30;
  // Its span is what the writer has set aside.
  auto header = part_at<ChunkHeader>(bytes.data() + begin);
  ASSERT_EQ(header.stored_bytes, 30u);
  header.span = sizeof header + 64;
  header.begin_checksum = begin_checksum_of(header);
  bytes.resize(begin + header.span);
  std::memcpy(bytes.data() + begin, &header, sizeof header);
  std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(begin + offsetof(ChunkHeader, state)),
              sizeof header - offsetof(ChunkHeader, state), std::uint8_t{0});
  ReadTrace read = read_trace(bytes);
  EXPECT_EQ(read.events.size(), 10u);
  EXPECT_EQ(read.open_chunks, 1u);
  EXPECT_FALSE(is_told(read));
  ASSERT_EQ(bytes[end], 0);
  bytes[end + 1] = 5;  // an event that was under way: its head is not stored
  EXPECT_EQ(read_trace(bytes).events.size(), 10u);
  bytes[end] = 63;  // no operation
  read = read_trace(bytes);
  EXPECT_EQ(read.events.size(), 10u);
  EXPECT_TRUE(is_told(read));
  bytes.resize(end - 1);
  EXPECT_EQ(read_trace(bytes).events.size(), 9u);
}

// A chunk of each of many threads, none of which goes on before all have begun.
TEST(Damage, ChunksThatAreOpenAtOnceHaveABound) {
  std::vector<Event> events;
  for (std::uint64_t round = 0; round < 2; ++round)
    for (std::uint32_t thread = 1; thread <= 20; ++thread)
      for (std::uint64_t i = 1; i <= 1000; ++i)
        events.push_back({.operation = Operation::kMalloc,
                          .thread = thread,
                          .time = round,
                          .result = block_id(thread, round * 1000 + i),
                          .size = i});
  const Bytes bytes = write_trace(events, {.level = 3, .chunk_bytes = 1 << 16});
  const ReadTrace whole = read_trace(bytes);
  EXPECT_FALSE(is_told(whole));
  EXPECT_EQ(whole.events.size(), events.size());
  const ReadTrace part = read_trace(bytes, 5 << 13);
  EXPECT_TRUE(is_told(part));
  EXPECT_GT(part.damaged_chunks, 0u);
  EXPECT_LT(part.damaged_chunks, 20u);
  EXPECT_TRUE(is_part_of(part.events, whole.events));
  EXPECT_NE(part.faults.front().find("too many threads have a chunk at once"), std::string::npos) << part.faults[0];
}

}  // namespace
}  // namespace snug::trace
