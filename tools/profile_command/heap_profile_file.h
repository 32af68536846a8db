// HeapProfileFile: a heap profile in pprof's format, not compressed, as snug writes it: what each stack has allocated,
// holds, and held at the peak. Names of functions are those that the file has, or else are looked up in the files of
// the code, and in a map for perf: the library that writes profiles looks up none.
//
// The file may be damaged or hostile: what cannot be read throws UserError with one line.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace snug::tool {

enum class ProfileMeasure { kAllocated, kLive, kPeak };

struct ProfileAmount {
  double blocks = 0;
  double bytes = 0;
};

class HeapProfileFile {
 public:
  // A stack by its functions, innermost first, and its amounts by measure.
  using Stack = std::vector<std::string>;
  using Amounts = std::array<ProfileAmount, 3>;

  // `process`: the number of the process that wrote it, of which the map for perf is read; 0: that is not known.
  explicit HeapProfileFile(const std::string& path, std::uint64_t process = 0);

  const std::map<Stack, Amounts>& stacks() const { return stacks_; }
  std::uint64_t distance() const { return distance_; }  // bytes
  // The profile in the same format, with all names that were found.
  const std::string& with_names() const { return with_names_; }
  // Each amount less that of the same stack in `before`.
  void subtract(const HeapProfileFile& before);

 private:
  std::map<Stack, Amounts> stacks_;
  std::string with_names_;
  std::uint64_t distance_ = 0;
};

}  // namespace snug::tool
