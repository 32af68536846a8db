// AddressAnswer: the answer of one address, of a running process or by its memory, checked.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "inspect_command/mapped_code.h"

namespace snug::tool {

// A word as an address, 0x and hexadecimal digits. Throws UserError for anything that no address of a program is.
std::uint64_t address_in(const std::string& word);

class AddressAnswer {
 public:
  // `answer` is the object as src/allocator/address_description.h writes it, which may be damaged or hostile: then
  // std::exception is thrown.
  AddressAnswer(const std::string& answer, pid_t pid, std::uint64_t address);

  // The stack that allocated it, innermost first; empty if it is not known.
  const std::vector<std::uint64_t>& stack() const { return stack_; }
  // Adds what is mapped at the address, and the functions of the stack.
  void name(const MappedCode& code);

  // The object as it came, with pid and what name() has added.
  const nlohmann::ordered_json& json() const { return json_; }
  // Lines for people.
  std::string text() const;

 private:
  bool has(const char* name) const { return json_.contains(name); }
  std::string word(const char* name) const;
  std::uint64_t number(const char* name) const;
  std::string head() const;
  std::string place() const;
  std::string history() const;

  std::uint64_t address_;
  std::vector<std::uint64_t> stack_;
  nlohmann::ordered_json json_;
};

}  // namespace snug::tool
