// Notes of blocks: what is written is read, and nothing else passes for a note.
#include "checked/block_note.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

namespace snug {
namespace {

constexpr size_t kRoom = 1024;

class BlockNoteTest : public testing::Test {
 protected:
  BlockNoteTest() { notes.open(0x1234567890abcdef); }

  bool reads() {
    BlockNote note;
    return notes.read(block, kRoom, &note);
  }

  BlockNotes notes;
  alignas(64) unsigned char block[kRoom] = {};
};

TEST_F(BlockNoteTest, WhatIsWrittenIsRead) {
  for (const BlockOrigin origin : {BlockOrigin::kMalloc, BlockOrigin::kNew, BlockOrigin::kNewArray}) {
    for (size_t size = 0; size <= kRoom - BlockNotes::kTrailer; ++size) {
      notes.write(block, kRoom, size, origin);
      BlockNote note;
      ASSERT_TRUE(notes.read(block, kRoom, &note));
      ASSERT_EQ(note.size, size);
      ASSERT_EQ(note.origin, origin);
      ASSERT_TRUE(note.is_live);
      ASSERT_EQ(notes.damage(block, kRoom, size), kRoom);
    }
  }
}

TEST_F(BlockNoteTest, NothingIsReadWhereNothingWasWritten) {
  EXPECT_FALSE(reads());
  EXPECT_TRUE(notes.is_blank(block, kRoom));
}

TEST_F(BlockNoteTest, EveryBitOfTheTrailerCounts) {
  notes.write(block, kRoom, 100, BlockOrigin::kNew);
  for (size_t bit = 0; bit != 64; ++bit) {
    unsigned char& byte = block[kRoom - BlockNotes::kTrailer + bit / 8];
    byte = static_cast<unsigned char>(byte ^ 1u << bit % 8);
    EXPECT_FALSE(reads()) << "bit " << bit;
    byte = static_cast<unsigned char>(byte ^ 1u << bit % 8);
  }
  EXPECT_TRUE(reads());
}

TEST_F(BlockNoteTest, RandomTrailersAreNone) {
  std::mt19937_64 random(7);
  size_t read = 0;
  for (int i = 0; i != 100'000; ++i) {
    const uint64_t word = random();
    std::memcpy(block + kRoom - BlockNotes::kTrailer, &word, sizeof word);
    if (reads()) ++read;
  }
  EXPECT_EQ(read, 0u);
}

TEST_F(BlockNoteTest, AnotherBlocksTrailerIsNone) {
  alignas(64) unsigned char other[kRoom] = {};
  notes.write(other, kRoom, 100, BlockOrigin::kMalloc);
  std::memcpy(block, other, kRoom);
  EXPECT_FALSE(reads());
}

TEST_F(BlockNoteTest, EveryByteOfTheCanaryCounts) {
  constexpr size_t kSize = kRoom - BlockNotes::kTrailer - 100;
  notes.write(block, kRoom, kSize, BlockOrigin::kMalloc);
  for (size_t i = kSize; i != kSize + 100; ++i) {
    ASSERT_NE(block[i], 0) << "the byte that is written beyond the end most often";
    block[i] ^= 1;
    ASSERT_EQ(notes.damage(block, kRoom, kSize), i);
    block[i] ^= 1;
  }
}

// Whatever the process' secret is: a table of what is found says the same in each run.
TEST_F(BlockNoteTest, NoByteOfTextNorAnyZeroOrMinusOnePassesForTheCanary) {
  constexpr size_t kSize = 100;
  for (uint64_t secret = 0; secret != 1000; ++secret) {
    notes.open(secret * 0x9e3779b97f4a7c15);
    for (unsigned byte = 0; byte <= 0xff; ++byte) {
      if (byte > 0xf4 && byte < 0xfd) continue;
      notes.write(block, kRoom, kSize, BlockOrigin::kMalloc);
      block[kSize] = static_cast<unsigned char>(byte);
      ASSERT_EQ(notes.damage(block, kRoom, kSize), kSize) << "byte " << byte << ", secret " << secret;
    }
  }
}

// The canary is written by words, and the first may be the user's in part, as when a block is resized in its place.
TEST_F(BlockNoteTest, WritesNoByteOfTheUsers) {
  for (size_t size = 0; size <= 64; ++size) {
    std::memset(block, 0x5a, kRoom);
    notes.write(block, kRoom, size, BlockOrigin::kMalloc);
    for (size_t i = 0; i != size; ++i) ASSERT_EQ(block[i], 0x5a) << "byte " << i << " of " << size;
    for (size_t i = 0; i != size; ++i) block[i] = 0xff;
    ASSERT_EQ(notes.damage(block, kRoom, size), kRoom);
    for (size_t i = size; i != size + 128; ++i) {
      block[i] ^= 0x10;
      ASSERT_EQ(notes.damage(block, kRoom, size), i) << "of " << size;
      block[i] ^= 0x10;
    }
  }
}

// What is filled of a freed block, its canary included, ends before its notes.
TEST_F(BlockNoteTest, TheCanaryEndsWithAWord) {
  for (size_t size = 0; size <= kRoom - BlockNotes::kTrailer; ++size) {
    const size_t end = notes.canary_end(size, kRoom);
    ASSERT_EQ(end % 8, 0u);
    ASSERT_GE(end, size);
    ASSERT_LE(end, kRoom - BlockNotes::kTrailer);
    ASSERT_TRUE(end == kRoom - BlockNotes::kTrailer || end >= size + 128) << size;
  }
}

TEST_F(BlockNoteTest, EveryBitOfTheTrailerOfAFreedBlockCounts) {
  notes.write(block, kRoom, 100, BlockOrigin::kNew);
  BlockNote note;
  ASSERT_TRUE(notes.read(block, kRoom, &note));
  ASSERT_TRUE(notes.end(block, kRoom, note));
  const uint64_t trailer = BlockNotes::trailer_of_freed(note);
  ASSERT_TRUE(notes.has_trailer(block, kRoom, trailer));
  for (size_t bit = 0; bit != 64; ++bit) {
    unsigned char& byte = block[kRoom - BlockNotes::kTrailer + bit / 8];
    byte = static_cast<unsigned char>(byte ^ 1u << bit % 8);
    EXPECT_FALSE(reads()) << "bit " << bit;
    EXPECT_FALSE(notes.has_trailer(block, kRoom, trailer)) << "bit " << bit;
    byte = static_cast<unsigned char>(byte ^ 1u << bit % 8);
  }
  EXPECT_TRUE(reads());
}

TEST_F(BlockNoteTest, EndsOnce) {
  notes.write(block, kRoom, 100, BlockOrigin::kMalloc);
  BlockNote note;
  ASSERT_TRUE(notes.read(block, kRoom, &note));
  EXPECT_TRUE(notes.end(block, kRoom, note));
  EXPECT_FALSE(notes.end(block, kRoom, note));
  ASSERT_TRUE(notes.read(block, kRoom, &note));
  EXPECT_FALSE(note.is_live);
  EXPECT_EQ(note.size, 100u);
  EXPECT_EQ(note.origin, BlockOrigin::kMalloc);
}

}  // namespace
}  // namespace snug
