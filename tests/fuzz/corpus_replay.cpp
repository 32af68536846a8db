// The main() of a fuzz target in builds without libFuzzer: runs each file of the folders named, then the same number of
// mutations of each. Usage: fuzz_NAME MUTATIONS FOLDER...
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count);

namespace {

using Input = std::vector<uint8_t>;

Input read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return Input(std::istreambuf_iterator<char>(file), {});
}

// Some bytes changed, a piece taken out, or a piece doubled.
Input mutated(Input input, std::mt19937& random) {
  const auto below = [&random](size_t bound) { return bound == 0 ? 0 : random() % bound; };
  for (size_t change = 1 + below(4); change != 0; --change) {
    const auto from = input.begin() + static_cast<ptrdiff_t>(below(input.size() + 1));
    const auto to =
        from + static_cast<ptrdiff_t>(below(std::min<size_t>(16, static_cast<size_t>(input.end() - from)) + 1));
    switch (below(3)) {
      case 0:
        for (auto at = from; at != to; ++at)
          *at = static_cast<uint8_t>(below(4) == 0 ? below(256) : "0123456789 \n#"[below(13)]);
        break;
      case 1:
        input.erase(from, to);
        break;
      default: {
        const Input piece(from, to);
        input.insert(from, piece.begin(), piece.end());
      }
    }
  }
  return input;
}

}  // namespace

int main(int count, char** folders) {
  const int mutations = count > 1 ? std::atoi(folders[1]) : 0;
  if (mutations <= 0) {
    std::fprintf(stderr, "usage: %s MUTATIONS FOLDER...\n", folders[0]);
    return 2;
  }
  std::mt19937 random(1);
  std::vector<std::filesystem::path> files;
  for (int i = 2; i < count; ++i)
    for (const auto& entry : std::filesystem::directory_iterator(folders[i])) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const std::filesystem::path& file : files) {
    const Input input = read(file);
    LLVMFuzzerTestOneInput(input.data(), input.size());
    for (int i = 0; i < mutations; ++i) {
      const Input other = mutated(input, random);
      LLVMFuzzerTestOneInput(other.data(), other.size());
    }
  }
  std::printf("%zu files, %d mutations of each\n", files.size(), mutations);
  return files.empty() ? 1 : 0;
}
