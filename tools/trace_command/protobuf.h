// Protobuf: the fields of a message, as https://protobuf.dev/programming-guides/encoding/ has them; those that are
// asked for here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace snug::tool {

class ProtobufMessage {
 public:
  // A number that is 0 need not be said.
  void add(std::uint32_t field, std::uint64_t number) {
    if (number == 0) return;
    put(std::uint64_t{field} << 3);
    put(number);
  }
  // A text, or a message.
  void add(std::uint32_t field, std::string_view bytes) {
    put(std::uint64_t{field} << 3 | kBytes);
    put(bytes.size());
    bytes_ += bytes;
  }
  void add(std::uint32_t field, const std::vector<std::uint64_t>& numbers) {
    ProtobufMessage packed;
    for (const std::uint64_t number : numbers) packed.put(number);
    add(field, packed.bytes_);
  }

  // Fields of a message as they are.
  void add_field(std::string_view field) { bytes_ += field; }

  const std::string& bytes() const { return bytes_; }

 private:
  static constexpr std::uint64_t kBytes = 2;

  void put(std::uint64_t number) {
    for (; number >= 0x80; number >>= 7) bytes_ += static_cast<char>(number | 0x80);
    bytes_ += static_cast<char>(number);
  }

  std::string bytes_;
};

}  // namespace snug::tool
