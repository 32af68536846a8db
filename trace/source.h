// Source: the bytes of a trace, read at any place. Files are read, not mapped: one that is cut short meanwhile would
// end the reader by a signal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace snug::trace {

class Source {
 public:
  virtual ~Source() = default;
  virtual std::uint64_t size() const = 0;
  // False if there were not so many bytes.
  virtual bool read(std::uint64_t offset, void* to, std::size_t count) = 0;
};

class MemorySource final : public Source {
 public:
  // The caller owns the bytes, which must outlive this.
  explicit MemorySource(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
  std::uint64_t size() const override { return bytes_.size(); }
  bool read(std::uint64_t offset, void* to, std::size_t count) override;

 private:
  std::span<const std::uint8_t> bytes_;
};

// Null, and the reason in `fault`, if the file cannot be opened, or cannot be read at any place.
std::unique_ptr<Source> open_source(const std::string& path, std::string& fault);

}  // namespace snug::trace
