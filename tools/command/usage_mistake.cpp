#include "command/usage_mistake.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "base/nearest_word.h"

namespace snug::tool {

namespace {

// Of the commands that a call of `app` must go on with one of; none where it need not.
std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  if (app.get_require_subcommand_min() == 0) return names;
  for (const CLI::App* command : app.get_subcommands(nullptr)) names.push_back(command->get_name());
  return names;
}

// As they are written in a call. A letter alone is left out, for which any other would be near.
std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

// ": did you mean 'record'?"; nothing where no name is near.
std::string suggestion(const std::string& word, const std::vector<std::string>& names) {
  NearestWord nearest(word.data(), word.size());
  for (const std::string& name : names) nearest.offer(name.c_str());
  return nearest.found() == nullptr ? "" : fmt::format(": did you mean '{}'?", nearest.found());
}

// The first word of which the command knows nothing, options before others.
std::optional<std::string> left_over(const CLI::App& command) {
  std::vector<std::string> words = command.remaining();
  std::erase(words, "--");
  if (words.empty()) return std::nullopt;
  const auto option =
      std::find_if(words.begin(), words.end(), [](const std::string& word) { return word.starts_with('-'); });
  return option == words.end() ? words.front() : *option;
}

std::string unknown_word(const CLI::App& command, const std::string& word, const std::string& call) {
  if (word.starts_with('-') && word != "-") {
    const std::string option = word.substr(0, word.find('='));
    return fmt::format("unknown option '{}'{} ({} --help lists them)", option,
                       suggestion(option, option_names(command)), call);
  }
  if (!command_names(command).empty()) {
    return fmt::format("unknown command '{}'{} ({} --help lists them)", word, suggestion(word, command_names(command)),
                       call);
  }
  return fmt::format("'{}' is one argument too many ({} --help tells more)", word, call);
}

bool is_about_words(const CLI::ParseError& error) {
  return dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr ||
         dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
}

}  // namespace

std::string unknown_command(const CLI::App& app, const std::string& word) {
  return unknown_word(app, word, app.get_name());
}

std::string usage_mistake(const CLI::App& app, const CLI::ParseError& error) {
  std::string call = app.get_name();
  const CLI::App* command = &app;
  for (;;) {
    if (const auto word = left_over(*command); word && is_about_words(error))
      return unknown_word(*command, *word, call);
    const auto chosen = command->get_subcommands();
    if (chosen.empty()) break;
    command = chosen.front();
    call += " " + command->get_name();
  }
  const std::vector<std::string> names = command_names(*command);
  if (is_about_words(error) && !names.empty())
    return fmt::format("name a command of {}: {} ({} --help tells more)", call, fmt::join(names, ", "), call);
  return fmt::format("{} ({} --help tells more)", error.what(), call);
}

}  // namespace snug::tool
