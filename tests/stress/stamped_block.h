// A block that carries its own proof: its maker, its number, its length, and a checksum pattern to its end.
//
//   struct Stamp { magic, owner, sequence, length, seal }   then bytes of pattern(owner, sequence) up to length
//
// seal = mix(owner, sequence, length), so that the receiver sees whether a block was torn, mixed up with another, or
// freed and handed out again while still in flight. Any thread may verify; nothing is shared but the block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <snug/snug.h>

namespace snug::stress {

struct Stamp {
  uint64_t owner;
  uint64_t sequence;
  uint64_t length;
  uint64_t seal;
};

inline uint64_t mix(uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ull;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

inline uint64_t seal_of(const Stamp& stamp) {
  return mix(stamp.owner + mix(stamp.sequence + mix(stamp.length))) ^ 0x5eab10c5eab10c5eull;
}

inline unsigned char pattern_byte(const Stamp& stamp, size_t at) {
  return static_cast<unsigned char>(stamp.seal >> (at % 8 * 8));
}

// Null if the allocator gave nothing. `length` counts the stamp, and is at least its size.
inline Stamp* make_stamped(uint64_t owner, uint64_t sequence, size_t length) {
  if (length < sizeof(Stamp)) length = sizeof(Stamp);
  auto* const stamp = static_cast<Stamp*>(snug_malloc(length));
  if (stamp == nullptr) return nullptr;
  *stamp = Stamp{owner, sequence, length, 0};
  stamp->seal = seal_of(*stamp);
  auto* const bytes = reinterpret_cast<unsigned char*>(stamp);
  for (size_t at = sizeof(Stamp); at < length; ++at) bytes[at] = pattern_byte(*stamp, at);
  return stamp;
}

inline bool is_intact(const Stamp* stamp) {
  if (stamp->seal != seal_of(*stamp)) return false;
  const auto* const bytes = reinterpret_cast<const unsigned char*>(stamp);
  for (size_t at = sizeof(Stamp); at < stamp->length; ++at) {
    if (bytes[at] != pattern_byte(*stamp, at)) return false;
  }
  return true;
}

// False if the block was damaged. It is wiped first, so that a second holder of the same block will see it.
inline bool verify_and_free(Stamp* stamp) {
  if (!is_intact(stamp)) return false;
  const size_t length = stamp->length;
  std::memset(stamp, 0xdd, sizeof(Stamp));
  if (length % 2 == 0) {
    snug_free_sized(stamp, length);
  } else {
    snug_free(stamp);
  }
  return true;
}

class SmallRandom {
 public:
  explicit SmallRandom(uint64_t seed) : state_(seed) {}
  uint64_t operator()() { return mix(state_ += 0x9e3779b97f4a7c15ull); }
  uint64_t below(uint64_t bound) { return (*this)() % bound; }
  // Mostly small, now and then up to 64 KiB: every layer is reached.
  size_t length() {
    const uint64_t die = below(100);
    if (die < 70) return 32 + below(480);
    if (die < 95) return 512 + below(7 * 1024);
    return 8192 + below(56 * 1024);
  }

 private:
  uint64_t state_;
};

}  // namespace snug::stress
