// say(): a line for people, or a part of one, on standard error. What cannot be written there is lost, and nothing else
// with it: a full disk behind it, or a pipe that nobody reads, ends no work.
#pragma once

#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <string>
#include <utility>

#include "print/ignored_signal.h"

namespace snug::tool {

template <class... Arguments>
void say(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  const std::string text = fmt::format(format, std::forward<Arguments>(arguments)...);
  const IgnoredSignal pipe(SIGPIPE);  // not for longer: programs that are started would inherit it
  std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace snug::tool
