// ProtobufText: a message in the encoding of protocol buffers, built in place, of a bounded length. What does not fit
// is left out whole: a message is never cut in the middle of a field.
//
//   field    == varint(number << 3 | type) value         type 0: a varint; type 2: a length and as many bytes
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

namespace snug {

// Writes a varint, of at most kMostVarint bytes; returns its length.
inline constexpr size_t kMostVarint = 10;
inline size_t put_varint(unsigned char* bytes, uint64_t number) {
  size_t length = 0;
  for (; number >= 0x80; number >>= 7) bytes[length++] = static_cast<unsigned char>(number | 0x80);
  bytes[length++] = static_cast<unsigned char>(number);
  return length;
}

template <size_t Capacity>
class ProtobufText {
 public:
  ProtobufText& add_number(uint32_t field, uint64_t number) {
    if (number == 0 || length_ + 2 * kMostVarint > Capacity) return *this;  // 0 is what a missing field means
    length_ += put_varint(bytes_ + length_, uint64_t{field} << 3);
    length_ += put_varint(bytes_ + length_, number);
    return *this;
  }
  ProtobufText& add_bytes(uint32_t field, const void* bytes, size_t count) {
    if (length_ + 2 * kMostVarint + count > Capacity) return *this;
    length_ += put_varint(bytes_ + length_, uint64_t{field} << 3 | 2);
    length_ += put_varint(bytes_ + length_, count);
    memcpy(bytes_ + length_, bytes, count);
    length_ += count;
    return *this;
  }
  template <size_t Others>
  ProtobufText& add(uint32_t field, const ProtobufText<Others>& message) {
    return add_bytes(field, message.data(), message.size());
  }
  // A row of numbers in one field, packed.
  ProtobufText& add_packed(uint32_t field, const uint64_t* numbers, size_t count) {
    ProtobufText<Capacity> packed;
    for (size_t i = 0; i != count && packed.length_ + kMostVarint <= Capacity; ++i)
      packed.length_ += put_varint(packed.bytes_ + packed.length_, numbers[i]);
    return add(field, packed);
  }

  const unsigned char* data() const { return bytes_; }
  size_t size() const { return length_; }

 private:
  template <size_t>
  friend class ProtobufText;

  unsigned char bytes_[Capacity];
  size_t length_ = 0;
};

}  // namespace snug
