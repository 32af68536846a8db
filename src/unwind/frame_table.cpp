#include "unwind/frame_table.h"

#include <string.h>

#include "base/bits.h"

namespace snug::unwind {

namespace {

// Numbers of registers in the tables of x86-64.
constexpr uint64_t kFramePointer = 6;
constexpr uint64_t kStackPointer = 7;
constexpr uint64_t kReturnAddress = 16;

// In the place of the register from which the frame's end is told: it is stored, at an offset from the frame pointer.
// So GCC does where it aligns the frame and finds it by a third register, which it stores.
constexpr uint64_t kStored = ~uint64_t{0};
// Of expressions: the frame pointer and an offset; what is stored there.
constexpr uint8_t kFramePointerAnd = 0x76;
constexpr uint8_t kDereference = 0x06;

// How a pointer is written: the lower four bits say how long it is.
constexpr uint8_t kRelativeToTable = 0x3b;  // signed, of four bytes
constexpr uint8_t kFourBytes = 0x03;
constexpr uint8_t kOmitted = 0xff;

size_t size_of_pointer(uint8_t encoding) {
  switch (encoding & 7) {
    case 2:
      return 2;
    case 3:
      return 4;
    default:
      return 8;
  }
}

// Reads bytes up to an end. What lies beyond it reads as 0 and sets `failed`.
class TableReader {
 public:
  TableReader(uintptr_t begin, uintptr_t end) : at_(begin), end_(end) {}

  uintptr_t position() const { return at_; }
  bool failed() const { return failed_; }
  bool is_at_end() const { return at_ >= end_; }
  void skip(uint64_t bytes) { has(bytes) ? at_ += bytes : 0; }

  template <class T>
  T read() {
    T value = 0;
    if (!has(sizeof value)) return 0;
    memcpy(&value, at<const void>(at_), sizeof value);
    at_ += sizeof value;
    return value;
  }
  uint64_t read_uleb() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = read<uint8_t>();
      value |= uint64_t{byte & 0x7fu} << shift;
      if ((byte & 0x80) == 0) break;
    }
    return value;
  }
  int64_t read_sleb() {
    int64_t value = 0;
    unsigned shift = 0;
    uint8_t byte = 0x80;
    while ((byte & 0x80) != 0 && shift < 64) {
      byte = read<uint8_t>();
      value |= static_cast<int64_t>(uint64_t{byte & 0x7fu} << shift);
      shift += 7;
    }
    if (shift < 64 && (byte & 0x40) != 0) value -= static_cast<int64_t>(uint64_t{1} << shift);
    return value;
  }
  // The part with these bytes, which is passed over.
  TableReader part(uint64_t bytes) {
    const uintptr_t begin = at_;
    skip(bytes);
    return {begin, at_};
  }

 private:
  bool has(uint64_t bytes) {
    if (bytes <= end_ - at_) return true;
    failed_ = true;
    at_ = end_;
    return false;
  }

  uintptr_t at_;
  uintptr_t end_;
  bool failed_ = false;
};

// What the instructions of the tables have said so far.
struct TableRow {
  uint64_t base = 0;  // the register that the frame's end is told from
  int64_t end_offset = 0;
  int64_t saved_offset = 0;
  bool has_end = false;
  bool is_saved_there = false;  // the caller's frame pointer, where the register points to
  bool is_outermost = false;
  bool is_strange = false;  // told in a way that is not understood here
};

// The instructions of one function, and of the record that it shares with others of its kind.
class TableProgram {
 public:
  TableProgram(uint64_t code_unit, int64_t data_unit, uintptr_t begin, uintptr_t call)
      : code_unit_(code_unit), data_unit_(data_unit), at_(begin), call_(call) {}

  // Follows instructions as far as they say what holds at the call. False if one is not known.
  bool run(TableReader code) {
    while (!code.is_at_end() && at_ <= call_)
      if (!step(code) || code.failed()) return false;
    return true;
  }
  // What has been said so far is what `restore` goes back to.
  void keep_initial() { initial_ = rows_; }
  const TableRow& rows() const { return rows_; }

 private:
  static constexpr size_t kMostKept = 8;

  void set_saved(uint64_t column, int64_t offset) {
    if (column == kFramePointer) rows_.saved_offset = offset;
    if (column == kReturnAddress) rows_.is_strange |= offset != -8;
  }
  void restore(uint64_t column) {
    if (column != kFramePointer) return;
    rows_.saved_offset = initial_.saved_offset;
    rows_.is_saved_there = initial_.is_saved_there;
  }
  void set_strange(uint64_t column) { rows_.is_strange |= column == kFramePointer || column == kReturnAddress; }
  void set_end(uint64_t base, int64_t offset) {
    rows_.base = base;
    rows_.end_offset = offset;
    rows_.has_end = true;
  }
  // By expressions, of which two are understood.
  void set_end(TableReader expression) {
    int64_t offset = 0;
    rows_.has_end = is_frame_pointer_and(expression, &offset) && expression.read<uint8_t>() == kDereference;
    rows_.has_end &= expression.is_at_end();
    rows_.base = kStored;
    rows_.end_offset = offset;
  }
  void set_saved(uint64_t column, TableReader expression) {
    int64_t offset = 0;
    const bool is_there = is_frame_pointer_and(expression, &offset) && offset == 0 && expression.is_at_end();
    if (column == kFramePointer && is_there)
      rows_.is_saved_there = true;
    else
      set_strange(column);
  }
  static bool is_frame_pointer_and(TableReader& expression, int64_t* offset) {
    if (expression.read<uint8_t>() != kFramePointerAnd) return false;
    *offset = expression.read_sleb();
    return true;
  }
  int64_t scaled(uint64_t value) const { return static_cast<int64_t>(value * static_cast<uint64_t>(data_unit_)); }
  bool step(TableReader& code);
  bool step_extended(TableReader& code, uint8_t instruction);

  uint64_t code_unit_;
  int64_t data_unit_;
  uintptr_t at_;
  uintptr_t call_;
  TableRow rows_;
  TableRow initial_;
  TableRow kept_[kMostKept];
  size_t kept_count_ = 0;
};

// The numbers are DWARF's.
bool TableProgram::step(TableReader& code) {
  const auto instruction = code.read<uint8_t>();
  const uint64_t low = instruction & 0x3f;
  switch (instruction >> 6) {
    case 1:  // advance_loc
      at_ += low * code_unit_;
      return true;
    case 2:  // offset
      set_saved(low, scaled(code.read_uleb()));
      return true;
    case 3:  // restore
      restore(low);
      return true;
    default:
      return step_extended(code, instruction);
  }
}

bool TableProgram::step_extended(TableReader& code, uint8_t instruction) {
  switch (instruction) {
    case 0x00:  // nop
      return true;
    case 0x02:  // advance_loc1, 2 and 4
      at_ += code.read<uint8_t>() * code_unit_;
      return true;
    case 0x03:
      at_ += code.read<uint16_t>() * code_unit_;
      return true;
    case 0x04:
      at_ += code.read<uint32_t>() * code_unit_;
      return true;
    case 0x05: {  // offset_extended
      const uint64_t column = code.read_uleb();
      set_saved(column, scaled(code.read_uleb()));
      return true;
    }
    case 0x06:  // restore_extended
      restore(code.read_uleb());
      return true;
    case 0x07:  // undefined
      if (code.read_uleb() == kReturnAddress) rows_.is_outermost = true;
      return true;
    case 0x08:  // same_value
      if (code.read_uleb() == kFramePointer) rows_.saved_offset = 0;
      return true;
    case 0x09:  // register
      set_strange(code.read_uleb());
      code.read_uleb();
      return true;
    case 0x0a:  // remember_state
      if (kept_count_ == kMostKept) return false;
      kept_[kept_count_++] = rows_;
      return true;
    case 0x0b:  // restore_state
      if (kept_count_ == 0) return false;
      rows_ = kept_[--kept_count_];
      return true;
    case 0x0c: {  // def_cfa
      const uint64_t base = code.read_uleb();
      set_end(base, static_cast<int64_t>(code.read_uleb()));
      return true;
    }
    case 0x0d:  // def_cfa_register
      set_end(code.read_uleb(), rows_.end_offset);
      return true;
    case 0x0e:  // def_cfa_offset
      rows_.end_offset = static_cast<int64_t>(code.read_uleb());
      return true;
    case 0x0f:  // def_cfa_expression
      set_end(code.part(code.read_uleb()));
      return true;
    case 0x10: {  // expression
      const uint64_t column = code.read_uleb();
      set_saved(column, code.part(code.read_uleb()));
      return true;
    }
    case 0x16:  // val_expression
      set_strange(code.read_uleb());
      code.skip(code.read_uleb());
      return true;
    case 0x2e:  // GNU_args_size
      code.read_uleb();
      return true;
    default:
      return false;
  }
}

// The linker has written the tables, and exceptions go by them: they are believed. Where a program's parts do not lie
// close together, only the part with the call is known, which need not have the tables.
constexpr uintptr_t kNoEnd = ~uintptr_t{0};

// Where the record of the function is that the address lies in; its begin goes to `begin`. 0 if there is none.
uintptr_t find_function(uintptr_t table, uintptr_t call, uintptr_t* begin) {
  TableReader head(table, kNoEnd);
  const auto version = head.read<uint8_t>();
  const auto frames_encoding = head.read<uint8_t>();
  const auto count_encoding = head.read<uint8_t>();
  const auto table_encoding = head.read<uint8_t>();
  if (version != 1 || frames_encoding == kOmitted || count_encoding != kFourBytes || table_encoding != kRelativeToTable)
    return 0;
  head.skip(size_of_pointer(frames_encoding));
  const uint64_t count = head.read<uint32_t>();
  struct Entry {
    int32_t begin;
    int32_t record;
  };
  const auto* const rows = at<const Entry>(head.position());
  if (count == 0 || !is_aligned(address_of(rows), alignof(Entry))) return 0;
  const auto from_table = static_cast<int64_t>(call - table);
  size_t below = 0;  // of the last row that begins at the call or before it
  size_t above = count;
  while (above - below > 1) {
    const size_t middle = below + (above - below) / 2;
    (rows[middle].begin <= from_table ? below : above) = middle;
  }
  if (rows[below].begin > from_table) return 0;
  *begin = table + static_cast<uintptr_t>(int64_t{rows[below].begin});
  return table + static_cast<uintptr_t>(int64_t{rows[below].record});
}

// A record of the table of frames, without its length; empty if it is of 4 GiB or more.
TableReader open_record(uintptr_t address) {
  TableReader reader(address, kNoEnd);
  const auto length = reader.read<uint32_t>();
  return reader.part(length != 0xffffffff ? length : 0);
}

// What functions of one kind share.
struct FunctionKind {
  uint64_t code_unit = 0;
  int64_t data_unit = 0;
  uint8_t pointer_encoding = 0;
  bool has_lengths = false;  // functions' records tell how long their own additions are
  bool is_known = false;
};

// Leaves the reader at the instructions.
FunctionKind read_kind(TableReader& reader) {
  FunctionKind kind;
  const auto own_id = reader.read<uint32_t>();
  const auto version = reader.read<uint8_t>();
  if (own_id != 0 || (version != 1 && version != 3)) return kind;
  char additions[8] = {};
  size_t count = 0;
  for (char letter; (letter = reader.read<char>()) != 0 && count != sizeof additions - 1;) additions[count++] = letter;
  kind.code_unit = reader.read_uleb();
  kind.data_unit = reader.read_sleb();
  const uint64_t column = version == 1 ? reader.read<uint8_t>() : reader.read_uleb();
  if (column != kReturnAddress || (count != 0 && additions[0] != 'z')) return kind;
  kind.has_lengths = count != 0;
  if (kind.has_lengths) {
    TableReader values = reader.part(reader.read_uleb());
    for (size_t i = 1; i != count; ++i) {
      if (additions[i] == 'S') return kind;  // a signal handler's: the call before it is none
      const auto encoding = values.read<uint8_t>();
      if (additions[i] == 'R') kind.pointer_encoding = encoding;
      if (additions[i] == 'P') values.skip(size_of_pointer(encoding));
    }
  }
  kind.is_known = !reader.failed();
  return kind;
}

FrameRule rule_of(const TableRow& rows) {
  FrameRule rule;
  if (rows.is_outermost) {
    rule.end = FrameRule::End::kOutermost;
    return rule;
  }
  constexpr int64_t kMost = 1 << 30;
  const bool is_near = rows.end_offset > -kMost && rows.end_offset < kMost && rows.saved_offset > -kMost &&
                       rows.saved_offset < kMost && is_aligned(static_cast<size_t>(rows.end_offset), 8) &&
                       is_aligned(static_cast<size_t>(rows.saved_offset), 8);
  if (!rows.has_end || rows.is_strange || !is_near) return rule;
  if (rows.is_saved_there != (rows.base == kStored)) return rule;
  switch (rows.base) {
    case kStackPointer:
      rule.end = FrameRule::End::kFromStackPointer;
      break;
    case kFramePointer:
      rule.end = FrameRule::End::kFromFramePointer;
      break;
    case kStored:
      rule.end = FrameRule::End::kStored;
      break;
    default:
      return rule;
  }
  rule.end_offset = static_cast<int32_t>(rows.end_offset);
  rule.saved_offset = static_cast<int32_t>(rows.saved_offset);
  return rule;
}

}  // namespace

FrameRule find_table_rule(uintptr_t table, uintptr_t call) {
  uintptr_t begin = 0;
  const uintptr_t address = find_function(table, call, &begin);
  if (address == 0) return {};
  TableReader function = open_record(address);
  if (function.is_at_end()) return {};
  const uintptr_t here = function.position();
  TableReader shared = open_record(here - function.read<uint32_t>());
  const FunctionKind kind = read_kind(shared);
  if (!kind.is_known) return {};
  const size_t pointer_bytes = size_of_pointer(kind.pointer_encoding);
  function.skip(pointer_bytes);  // the begin, which the table tells
  const uint64_t length = pointer_bytes == 4   ? function.read<uint32_t>()
                          : pointer_bytes == 8 ? function.read<uint64_t>()
                                               : function.read<uint16_t>();
  if (kind.has_lengths) function.skip(function.read_uleb());
  if (function.failed() || call - begin >= length) return {};
  TableProgram program(kind.code_unit, kind.data_unit, begin, call);
  if (!program.run(shared)) return {};
  program.keep_initial();
  if (!program.run(function)) return {};
  return rule_of(program.rows());
}

}  // namespace snug::unwind
