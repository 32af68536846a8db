// A control group of the test's own that limits memory, for a child to run in. Only root may make one, and not
// everywhere.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

namespace snug {

class OwnGroup {
  // ThreadSanitizer's own memory, several times the program's, counts in the group: a limit is met by that.
#ifdef __SANITIZE_THREAD__
  static constexpr bool kHasShadow = true;
#else
  static constexpr bool kHasShadow = false;
#endif

 public:
  explicit OwnGroup(size_t limit)
      : is_two_(std::filesystem::exists("/sys/fs/cgroup/cgroup.controllers")),
        folder_(std::filesystem::path(is_two_ ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory") /
                ("snug-test-" + std::to_string(getpid()))) {
    std::error_code error;
    exists_ = !kHasShadow && std::filesystem::create_directory(folder_, error);
    limits_ = exists_ && set_limit(std::to_string(limit));
  }
  ~OwnGroup() {
    std::error_code error;
    if (exists_) std::filesystem::remove(folder_, error);
  }
  OwnGroup(const OwnGroup&) = delete;
  OwnGroup& operator=(const OwnGroup&) = delete;

  // Of version 2, which has more files than version 1.
  bool is_two() const { return is_two_; }
  // In bytes; nothing: no limit.
  bool set_limit(const std::string& bytes) const {
    if (is_two_) return set("memory.max", bytes.empty() ? "max" : bytes);
    return set("memory.limit_in_bytes", bytes.empty() ? "-1" : bytes);
  }
  bool set(const char* file, const std::string& value) const {
    return static_cast<bool>(std::ofstream(folder_ / file) << value << std::flush);
  }

  enum class Outcome { kTrue, kFalse, kCannot };
  // What `act` says in a child of the group.
  template <class Act>
  Outcome ask(Act act) const {
    if (!limits_) return Outcome::kCannot;
    const pid_t child = fork();
    if (child == 0) {
      if (!(std::ofstream(folder_ / "cgroup.procs") << getpid() << std::flush)) _exit(2);
      _exit(act() ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (!WIFEXITED(status)) return Outcome::kFalse;
    return WEXITSTATUS(status) == 0 ? Outcome::kTrue : WEXITSTATUS(status) == 2 ? Outcome::kCannot : Outcome::kFalse;
  }

 private:
  const bool is_two_;
  const std::filesystem::path folder_;
  bool exists_ = false;
  bool limits_ = false;
};

}  // namespace snug
