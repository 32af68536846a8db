// A small translation unit, for the warm-up of `cxx_compile.py`: every program of the compiler starts, with little to
// do.
#include <string>
#include <vector>

int main(int count, char** arguments) {
  const std::vector<std::string> words(arguments, arguments + count);
  return words.size() > 1000 ? 1 : 0;
}
