// The option by which every command that reads traces is told which process of a recording is meant.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace snug::tool {

inline void add_process_option(CLI::App& command, std::string& choice) {
  command
      .add_option("--process", choice,
                  "Of a recording of several processes: which, by its number or its program's name (snug trace info "
                  "lists them); the one that allocates most unless given")
      ->type_name("N|NAME");
}

}  // namespace snug::tool
