// LeakReports: what lives of a recording, said on standard error at the end of it, and while it grows. `snug report
// --leaks` says it, as a program of its own: meanwhile the rings of the recorded programs are emptied.
//
// At most one runs at a time; a begin() meanwhile brings one more behind it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "process/child_process.h"
#include "process/temporary_folder.h"

namespace snug::tool {

class LeakReports {
 public:
  // `suppressions`: a file, empty for none. The signals outlive the reports.
  LeakReports(std::filesystem::path trace, std::string suppressions, const HeldSignals& signals);

  // Of what the file has by now. False if no process could be started for it, which is said.
  bool begin();
  // False if the process is no report.
  bool note_exit(pid_t process, int status);
  // True once for a begin() that came while another report ran.
  bool take_wish();
  // One of the whole file, when nothing runs any more; waits for it. A signal ends it. False if it could not be said.
  bool finish();

  // What they have said, as JSON, the last one at the end.
  const std::vector<nlohmann::ordered_json>& said() const { return said_; }
  std::uint64_t leaked_blocks() const { return said_.back().at("leaked").at("blocks").get<std::uint64_t>(); }

 private:
  bool wait();
  bool take(int status);
  static bool fail(const std::string& why);

  const std::filesystem::path trace_;
  const std::string suppressions_;
  const HeldSignals& signals_;
  const TemporaryFolder folder_;
  std::optional<ChildProcess> child_;
  bool is_wished_ = false;
  std::vector<nlohmann::ordered_json> said_;
};

}  // namespace snug::tool
