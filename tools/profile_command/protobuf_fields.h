// Fields: those of a message in the encoding of protocol buffers, read one after the other. Throws UserError, without a
// place, where the bytes are no message.
#pragma once

#include <cstdint>
#include <string_view>

#include "text/user_error.h"

namespace snug::tool {

class Fields {
 public:
  explicit Fields(std::string_view bytes) : rest_(bytes) {}

  // False at the end.
  bool next() {
    if (rest_.empty()) return false;
    const std::uint64_t key = number();
    field = key >> 3;
    value = 0;
    bytes = {};
    is_bytes = (key & 7) != 0;
    switch (key & 7) {
      case 0:
        value = number();
        return true;
      case 1:
        bytes = take(8);
        return true;
      case 2:
        bytes = take(number());
        return true;
      case 5:
        bytes = take(4);
        return true;
      default:
        throw UserError("a field has no known type");
    }
  }
  bool at_end() const { return rest_.empty(); }
  std::string_view rest() const { return rest_; }
  std::uint64_t number() {
    std::uint64_t number = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1)[0]);
      number |= std::uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return number;
    }
    throw UserError("a number is too long");
  }

  std::uint64_t field = 0;
  std::uint64_t value = 0;
  std::string_view bytes;
  bool is_bytes = false;  // and no value

 private:
  std::string_view take(std::uint64_t count) {
    if (count > rest_.size()) throw UserError("it ends in the middle of a field");
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }

  std::string_view rest_;
};

}  // namespace snug::tool
