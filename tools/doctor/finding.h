// Finding: one thing that stands in the way of a preloaded malloc, or is worth knowing before one is preloaded.
#pragma once

#include <string>
#include <vector>

namespace snug::tool {

struct Finding {
  enum class Weight {
    kBlocks,  // the preload serves nothing, or the program breaks
    kPartly,  // it serves a part
    kNote,    // it serves; this is worth knowing
  };
  const char* id;  // for --json
  Weight weight;
  std::string what;    // "it is linked statically": follows the program's name
  std::string why;     // a sentence
  std::string remedy;  // a sentence that says what to do

  bool in_the_way() const { return weight != Weight::kNote; }
};

using Findings = std::vector<Finding>;

}  // namespace snug::tool
