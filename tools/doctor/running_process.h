// RunningProcess: what /proc tells of a process, and which library serves its malloc.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "library/elf_file.h"
#include "process/environment.h"

namespace snug::tool {

class RunningProcess {
 public:
  // Throws UserError if there is no such process, or we may not look into it.
  explicit RunningProcess(pid_t pid);

  std::string folder() const;  // /proc/PID
  const std::string& executable() const { return executable_; }
  const ElfFile& program() const { return program_; }
  const Environment& environment() const { return environment_; }  // that it was started with
  uid_t real_user() const { return user_; }
  gid_t real_group() const { return group_; }

  // The files that it has loaded with the program, in the order in which symbols are looked up: preloaded ones, then
  // those it is linked against, breadth first. Libraries that it opened later are none of them.
  std::vector<ElfFile> libraries() const;

 private:
  std::vector<std::string> mapped_files() const;

  pid_t pid_;
  std::string executable_;
  ElfFile program_;
  Environment environment_;
  uid_t user_ = 0;
  gid_t group_ = 0;
};

}  // namespace snug::tool
