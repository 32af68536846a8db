// PeopleText: what a command tells people: on standard output, or on standard error where that is taken by what
// programs read. What cannot be written there stops no work; finish() tells, behind all files.
#pragma once

#include <csignal>
#include <optional>
#include <string_view>

#include "print/ignored_signal.h"
#include "print/output_file.h"
#include "print/say.h"

namespace snug::tool {

class PeopleText {
 public:
  explicit PeopleText(bool is_output_taken) {
    if (!is_output_taken) output_.emplace(kStandardOutput);
  }

  // Behind a pipe it may be read in part: what comes after it is done all the same.
  void tell(std::string_view text) {
    const IgnoredSignal pipe(SIGPIPE);
    output_ ? output_->put(text) : say("{}", text);
  }
  // Throws UserError with status 1 if standard output did not take all of it. If its reader has gone, as head does, the
  // tool ends by the signal as any filter would, unless it was started without.
  void finish() {
    if (!output_) return;
    if (output_->has_lost_reader()) std::raise(SIGPIPE);
    output_->finish();
  }

 private:
  std::optional<OutputFile> output_;
};

}  // namespace snug::tool
