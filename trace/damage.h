// Damage: reports and counts the faults of a trace as they are found. The reader goes on behind each.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

namespace snug::trace {

class Damage {
 public:
  // Called for each fault with its place in the file, and what it is.
  using Listener = std::function<void(std::uint64_t offset, const std::string& what)>;

  Damage() = default;
  explicit Damage(Listener listener) : listener_(std::move(listener)) {}

  void tell(std::uint64_t offset, const std::string& what) {
    ++faults_;
    if (listener_) listener_(offset, what);
  }
  // Reports a chunk of which not all events are read, or none.
  void tell_chunk(std::uint64_t offset, const std::string& what) {
    ++chunks_;
    tell(offset, what);
  }
  void add_missing_chunks(std::uint64_t count) { missing_chunks_ += count; }

  std::uint64_t faults() const { return faults_; }
  std::uint64_t damaged_chunks() const { return chunks_; }
  std::uint64_t missing_chunks() const { return missing_chunks_; }

 private:
  Listener listener_;
  std::uint64_t faults_ = 0;
  std::uint64_t chunks_ = 0;
  std::uint64_t missing_chunks_ = 0;
};

}  // namespace snug::trace
