// UserError: something the user can put right. main() prints it as one line and ends with its exit status.
#pragma once

#include <stdexcept>
#include <string>

namespace snug::tool {

// The exit statuses that shells and env(1), nice(1) … share.
inline constexpr int kExitUsage = 2;
inline constexpr int kExitDamaged = 3;  // our own: a trace was read as far as it could be
inline constexpr int kExitCannotExecute = 126;
inline constexpr int kExitNotFound = 127;

class UserError : public std::runtime_error {
 public:
  explicit UserError(const std::string& message, int exit_status = kExitUsage)
      : std::runtime_error(message), exit_status_(exit_status) {}
  int exit_status() const { return exit_status_; }

 private:
  int exit_status_;
};

}  // namespace snug::tool
