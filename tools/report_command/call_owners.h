// CallOwners: which function of the program a block is of: the innermost that is no part of the language's own library,
// where programs have their memory through containers, allocators and wrappers. What is said of a program is said of
// these.
#pragma once

#include <string>
#include <vector>

#include "report_command/call_tree.h"

namespace snug::tool {

// What a function allocated, itself or through plumbing, called from anywhere.
struct OwnedSums : CallSums {
  int node = kNoCaller;  // of its calls the one that allocated most
};

class CallOwners {
 public:
  explicit CallOwners(const CallTree& tree);

  // Of each function that owns anything.
  const std::vector<OwnedSums>& sums() const { return sums_; }
  // "parse (FILE:12), called by run, called by main".
  std::string text_of(int node) const;
  // With its parameters: by it two recordings are compared.
  std::string name_of(int node) const;

 private:
  const CallTree& tree_;
  std::vector<OwnedSums> sums_;
};

}  // namespace snug::tool
