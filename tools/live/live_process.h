// LiveProcess: a running process with publish:on, to be asked (src/control/control_page.h). While one is held no other
// tool asks the process.
//
// Every function throws UserError with one line that says what is in the way: no such process, another user's, not on
// snug, not asked to publish, stopped, ended meanwhile, or of another version.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "control/control_page.h"
#include "text/user_error.h"

namespace snug::tool {

// `word` as the number of a process.
pid_t process_number(const std::string& word);

class LiveProcess {
 public:
  // `patience`: for another tool that asks it, and for each answer. A process of a paused container answers nothing,
  // and does not show that it is stopped: a look at all processes is not to wait long for one.
  static constexpr std::chrono::seconds kPatience{10};
  static constexpr std::chrono::seconds kPatienceWithOneOfAll{2};

  explicit LiveProcess(pid_t pid, std::chrono::seconds patience = kPatience);
  ~LiveProcess();
  LiveProcess(const LiveProcess&) = delete;
  LiveProcess& operator=(const LiveProcess&) = delete;

  // The answer. Where the process refuses, the error has its reason.
  std::string ask(ControlCommand command, const std::string& words = "");

  pid_t pid() const { return pid_; }

 private:
  [[noreturn]] void refuse(const std::string& why) const;
  void open_page();
  void lock_page() const;
  void await_answer(std::uint32_t request);

  pid_t pid_;
  std::chrono::seconds patience_;
  int file_ = -1;
  ControlPage* page_ = nullptr;
};

// To be thrown where an answer is none that a process of this version gives.
UserError damaged_answer(pid_t pid);

// Bytes that the process has in memory; 0 if it has ended.
double resident_bytes(pid_t pid);

// The processes that publish and that we may ask, by number.
std::vector<pid_t> published_processes();

}  // namespace snug::tool
