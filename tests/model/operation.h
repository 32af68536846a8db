// The words a random program is written in.
//
// An operation names the block it acts on by a *choice* among those alive at that moment (newest, oldest, or the
// pick-th modulo their number), never by an identity. So every subsequence of a program is again a program, which is
// what lets a failing one be cut down by simply leaving operations out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace snug::model {

enum class OperationKind : uint8_t {
  kMalloc,
  kCalloc,
  kAlignedAlloc,
  kMallocBatch,
  kRealloc,
  kFree,
  kFreeSized,
  kFreeBatch,
  kMove,  // to a block past the thread's cache
  kUsableSize,
  kTrim,
  kVerifyAll,
};

enum class Choice : uint8_t { kNewest, kOldest, kPick };

struct Operation {
  OperationKind kind = OperationKind::kMalloc;
  Choice choice = Choice::kPick;
  uint32_t pick = 0;      // which live block, modulo their number, for Choice::kPick
  size_t size = 0;        // bytes asked for
  size_t alignment = 16;  // of kAlignedAlloc
  uint32_t count = 1;     // of kMallocBatch and kFreeBatch, fewer if fewer are alive
};

using Program = std::vector<Operation>;

bool is_allocation(OperationKind kind);

std::ostream& operator<<(std::ostream& out, const Operation& operation);
// One operation a line, numbered, at most `limit` lines.
std::string describe(const Program& program, size_t limit = 60);

}  // namespace snug::model
