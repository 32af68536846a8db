// What is wrong with how the tool was called, in one line: for all commands, and theirs, with the nearest name there
// is.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace snug::tool {

// "unknown command 'recrod': did you mean 'record'? (snug --help lists them)", if `app` has no such command.
std::string unknown_command(const CLI::App& app, const std::string& word);

// What `error` is about, which parsing the arguments of `app` or of a command of its has thrown, and what tells more.
std::string usage_mistake(const CLI::App& app, const CLI::ParseError& error);

}  // namespace snug::tool
