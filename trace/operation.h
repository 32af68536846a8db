// Operation: the kind of an event of a trace, and its fields. The table below is the one that docs/trace-format.md
// prints; the encoder and the decoder have no other knowledge of an operation.
//
// A code never gets another meaning. A new operation, or a new field of one, needs a new version of the format, since a
// reader cannot skip an event of unknown length.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace snug::trace {

// A byte on file, below kRefusedBit.
enum class Operation : std::uint8_t {
  kNone = 0,  // no event: the rest of the chunk is empty
  kMalloc,
  kCalloc,
  kRealloc,
  kReallocarray,
  kAlignedAlloc,
  kMemalign,
  kPosixMemalign,
  kValloc,
  kPvalloc,
  kNew,
  kNewArray,
  kNewNothrow,
  kNewArrayNothrow,
  kNewAligned,
  kNewArrayAligned,
  kNewAlignedNothrow,
  kNewArrayAlignedNothrow,
  kFree,
  kFreeSized,
  kFreeAlignedSized,
  kDelete,
  kDeleteArray,
  kDeleteNothrow,
  kDeleteArrayNothrow,
  kDeleteSized,
  kDeleteArraySized,
  kDeleteAligned,
  kDeleteArrayAligned,
  kDeleteAlignedNothrow,
  kDeleteArrayAlignedNothrow,
  kDeleteSizedAligned,
  kDeleteArraySizedAligned,
  kFound,
  kUsableSize,
  kTrim,
  kThreadBegin,
  kThreadEnd,
  kFork,
  kExec,
  kExit,
  kPause,
  kResume,
  kLost,
  kMap,
  kUnmap,
  kRemap,
  kBreak,
  kSample,
  kModule,
  kFrame,
  kNumber,
  kTouched,
};

enum class Field : std::uint8_t {
  kNone,
  kBlock,      // Event::block: the one that is freed, or asked about
  kSize,       // Event::size
  kAlignment,  // Event::alignment
  kValue,      // the next of Event::values
  kSigned,     // the same, as a number with a sign
  kText,       // the next of Event::texts
};

// What an operation does to blocks.
enum class Effect : std::uint8_t { kNothing, kAllocates, kFrees, kReallocates, kFinds };

inline constexpr std::size_t kMostFields = 4;

struct OperationTraits {
  std::string_view name;
  Effect effect = Effect::kNothing;
  std::array<Field, kMostFields> fields = {};
  std::array<std::string_view, kMostFields> field_names = {};
  bool zeroed = false;
  bool takes_turn = false;  // always, whichever thread allocated the block
};

inline constexpr std::size_t kOperations = static_cast<std::size_t>(Operation::kTouched) + 1;

constexpr bool is_operation(std::uint8_t code) { return code != 0 && code < kOperations; }

namespace table {

using enum Field;

constexpr OperationTraits plain(std::string_view name, Effect effect, std::initializer_list<Field> fields) {
  OperationTraits traits{.name = name, .effect = effect};
  std::size_t i = 0;
  for (const Field field : fields) {
    traits.fields[i] = field;
    traits.field_names[i] = field == kBlock ? "block" : field == kSize ? "size" : "alignment";
    ++i;
  }
  return traits;
}
constexpr OperationTraits allocates(std::string_view name) { return plain(name, Effect::kAllocates, {kSize}); }
constexpr OperationTraits aligned(std::string_view name) {
  return plain(name, Effect::kAllocates, {kSize, kAlignment});
}
constexpr OperationTraits frees(std::string_view name, std::initializer_list<Field> fields) {
  return plain(name, Effect::kFrees, fields);
}
constexpr OperationTraits told(std::string_view name, std::array<Field, kMostFields> fields,
                               std::array<std::string_view, kMostFields> field_names, bool takes_turn = false) {
  return {.name = name, .fields = fields, .field_names = field_names, .takes_turn = takes_turn};
}

inline constexpr auto kTraits = [] {
  std::array<OperationTraits, kOperations> all = {};
  const auto set = [&all](Operation operation, const OperationTraits& traits) {
    all[static_cast<std::size_t>(operation)] = traits;
  };
  using enum Operation;
  set(kMalloc, allocates("malloc"));
  OperationTraits calloc = allocates("calloc");
  calloc.zeroed = true;
  set(kCalloc, calloc);
  set(kRealloc, plain("realloc", Effect::kReallocates, {kBlock, kSize}));
  set(kReallocarray, plain("reallocarray", Effect::kReallocates, {kBlock, kSize}));
  set(kAlignedAlloc, aligned("aligned_alloc"));
  set(kMemalign, aligned("memalign"));
  set(kPosixMemalign, aligned("posix_memalign"));
  set(kValloc, allocates("valloc"));
  set(kPvalloc, allocates("pvalloc"));
  set(kNew, allocates("new"));
  set(kNewArray, allocates("new[]"));
  set(kNewNothrow, allocates("new nothrow"));
  set(kNewArrayNothrow, allocates("new[] nothrow"));
  set(kNewAligned, aligned("new aligned"));
  set(kNewArrayAligned, aligned("new[] aligned"));
  set(kNewAlignedNothrow, aligned("new aligned nothrow"));
  set(kNewArrayAlignedNothrow, aligned("new[] aligned nothrow"));
  set(kFree, frees("free", {kBlock}));
  set(kFreeSized, frees("free_sized", {kBlock, kSize}));
  set(kFreeAlignedSized, frees("free_aligned_sized", {kBlock, kAlignment, kSize}));
  set(kDelete, frees("delete", {kBlock}));
  set(kDeleteArray, frees("delete[]", {kBlock}));
  set(kDeleteNothrow, frees("delete nothrow", {kBlock}));
  set(kDeleteArrayNothrow, frees("delete[] nothrow", {kBlock}));
  set(kDeleteSized, frees("delete sized", {kBlock, kSize}));
  set(kDeleteArraySized, frees("delete[] sized", {kBlock, kSize}));
  set(kDeleteAligned, frees("delete aligned", {kBlock, kAlignment}));
  set(kDeleteArrayAligned, frees("delete[] aligned", {kBlock, kAlignment}));
  set(kDeleteAlignedNothrow, frees("delete aligned nothrow", {kBlock, kAlignment}));
  set(kDeleteArrayAlignedNothrow, frees("delete[] aligned nothrow", {kBlock, kAlignment}));
  set(kDeleteSizedAligned, frees("delete sized aligned", {kBlock, kSize, kAlignment}));
  set(kDeleteArraySizedAligned, frees("delete[] sized aligned", {kBlock, kSize, kAlignment}));
  set(kFound, plain("found", Effect::kFinds, {kBlock, kSize}));
  set(kUsableSize, plain("usable_size", Effect::kNothing, {kBlock, kSize}));
  set(kTrim, plain("trim", Effect::kNothing, {kSize}));
  set(kThreadBegin, told("thread begin", {kValue, kValue}, {"system's id", "parent"}, true));
  set(kThreadEnd, told("thread end", {}, {}, true));
  set(kFork, told("fork", {kValue}, {"process"}, true));
  set(kExec, told("exec", {kText}, {"path"}, true));
  set(kExit, told("exit", {kSigned}, {"status"}, true));
  set(kPause, told("pause", {}, {}, true));
  set(kResume, told("resume", {}, {}, true));
  set(kLost, told("lost", {kValue}, {"events"}));
  set(kMap, told("map", {kValue, kValue, kValue}, {"address", "bytes", "protection"}, true));
  set(kUnmap, told("unmap", {kValue, kValue}, {"address", "bytes"}, true));
  set(kRemap, told("remap", {kValue, kValue, kValue, kValue}, {"old address", "old bytes", "address", "bytes"}, true));
  set(kBreak, told("break", {kValue, kSigned}, {"address", "growth"}, true));
  set(kSample, told("sample", {kValue, kValue}, {"measure", "value"}));
  set(kModule, told("module", {kValue, kText, kText}, {"module", "build-id", "path"}, true));
  set(kFrame, told("frame", {kValue, kValue, kValue, kValue}, {"stack", "caller", "module", "address"}, true));
  set(kNumber, told("number", {kValue}, {"number"}));
  set(kTouched, told("touched", {kBlock, kValue, kSize}, {"block", "from", "size"}));
  return all;
}();

static_assert(
    [] {
      for (std::size_t i = 1; i < kOperations; ++i)
        if (kTraits[i].name.empty()) return false;
      return true;
    }(),
    "every operation has its row");

}  // namespace table

constexpr const OperationTraits& traits_of(Operation operation) {
  return table::kTraits[static_cast<std::size_t>(operation)];
}

// What a sample's value measures.
enum class Measure : std::uint8_t {
  kResident = 1,     // bytes of the process in memory
  kArena,            // and the allocator's statistics, by the fields of mallinfo2
  kFreeBlocks,       // ordblks
  kFastFreeBlocks,   // smblks
  kMappedBlocks,     // hblks
  kMappedBytes,      // hblkhd
  kFastFreeBytes,    // fsmblks
  kUsedBytes,        // uordblks
  kFreeBytes,        // fordblks
  kReleasableBytes,  // keepcost; a recorder writes all of these at one moment, in this order
  kHeap,             // bytes of the process in memory, without those that belong to no allocator; before kResident
  kMostResident,     // the most that kResident ever was, between samples too; before kResident
};

inline constexpr std::size_t kMallinfoFields = 10;
// In their order in struct mallinfo2. There is no measure for usmblks, which no allocator counts.
inline constexpr std::array<std::string_view, kMallinfoFields> kMallinfoNames = {
    "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"};

constexpr bool is_of_mallinfo(std::uint64_t measure) {
  return measure >= static_cast<std::uint64_t>(Measure::kArena) &&
         measure <= static_cast<std::uint64_t>(Measure::kReleasableBytes);
}
// The place of the measure's field among those names.
constexpr std::size_t mallinfo_field(std::uint64_t measure) {
  constexpr std::uint64_t kBeforeUsmblks = 5;
  const std::uint64_t place = measure - static_cast<std::uint64_t>(Measure::kArena);
  return place < kBeforeUsmblks ? place : place + 1;
}
static_assert(kMallinfoNames[mallinfo_field(static_cast<std::uint64_t>(Measure::kUsedBytes))] == "uordblks");

// Empty if there is no such measure.
constexpr std::string_view name_of_measure(std::uint64_t measure) {
  if (measure == static_cast<std::uint64_t>(Measure::kResident)) return "resident";
  if (measure == static_cast<std::uint64_t>(Measure::kHeap)) return "heap";
  if (measure == static_cast<std::uint64_t>(Measure::kMostResident)) return "most resident";
  return is_of_mallinfo(measure) ? kMallinfoNames[mallinfo_field(measure)] : std::string_view();
}

}  // namespace snug::trace
