// The option by which every command that reads traces is told which process of a recording is meant.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace snug::tool {

// A name that is empty would be taken for none.
inline CLI::Validator not_empty() {
  return CLI::Validator([](std::string& word) { return std::string(word.empty() ? "no process is called ''" : ""); },
                        "");
}

inline void add_process_option(CLI::App& command, std::string& choice) {
  command
      .add_option("--process", choice,
                  "Of a recording of several processes: which, by its number or its program's name (snug trace info "
                  "lists them); the one that allocates most unless given")
      ->check(not_empty())
      ->type_name("N|NAME");
}

}  // namespace snug::tool
