// What the programs of S2 do with their command lines, and how they end: wrong usage is status 2, all else 1, in one
// line each.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace seeds {

// What the program is called in errors; each defines it.
extern const char* const kProgramName;

[[noreturn]] inline void fail(const std::string& why, int status = 1) {
  std::fprintf(stderr, "%s: %s\n", kProgramName, why.c_str());
  std::exit(status);
}

[[noreturn]] inline void refuse(const std::string& why) {
  fail(why + " (" + kProgramName + " --help lists the options)", 2);
}

// A whole number, with K, M or G behind it for the powers of 1024.
inline uint64_t number(const std::string& option, const char* text, uint64_t least, uint64_t most) {
  char* end = nullptr;
  const unsigned long long value = std::strtoull(text, &end, 10);
  const char* const units = "KMG";
  unsigned shift = 0;
  for (unsigned i = 0; i < 3; ++i)
    if (end != text && *end == units[i]) shift = 10 * (i + 1);
  if (shift != 0) ++end;
  const bool is_number = end != text && *end == '\0' && *text >= '0' && *text <= '9' && value <= UINT64_MAX >> shift;
  const uint64_t scaled = is_number ? static_cast<uint64_t>(value) << shift : 0;
  if (!is_number || scaled < least || scaled > most)
    refuse(option + ": '" + text + "' is no number from " + std::to_string(least) + " to " + std::to_string(most));
  return scaled;
}

// Calls take(word, next) for each argument; next() is the one after it, which the option needs. --help prints the help.
template <class Take>
void for_each_argument(int argc, char** argv, const char* help, Take take) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--help" || word == "-h") {
      std::fputs(help, stdout);
      std::exit(0);
    }
    take(word, [&]() -> const char* {
      if (i + 1 == argc) refuse(word + " lacks its value");
      return argv[++i];
    });
  }
}

inline double fraction(const std::string& option, const char* text) {
  char* end = nullptr;
  const double value = std::strtod(text, &end);
  if (end == text || *end != '\0' || !(value > 0 && value <= 1))
    refuse(option + ": '" + text + "' is no number above 0, up to 1");
  return value;
}

}  // namespace seeds
