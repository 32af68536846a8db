#include "stats_command/stats_command.h"

#include <fmt/format.h>

#include <cstdlib>
#include <exception>

#include "live/live_process.h"
#include "print/output_file.h"
#include "print/say.h"
#include "stats_command/metrics_server.h"
#include "stats_command/statistics_text.h"
#include "text/json_text.h"
#include "text/printable.h"
#include "text/user_error.h"

namespace snug::tool {

namespace {

constexpr const char* kExamples = R"(Examples:
  SNUG_CONF=publish:on LD_PRELOAD=/usr/local/lib/libsnug.so ./server &
  snug stats $!                                  what its heap has, and what it has given back
  snug stats --memory --classes $!               where each byte in memory is; all size classes
  snug stats --json $! | jq .bytes_in_use
  snug stats --all --prometheus                  all processes that may be asked, for a textfile collector
  snug stats --all --listen 127.0.0.1:9200       an exporter: Prometheus scrapes http://127.0.0.1:9200/metrics

A process can be asked if it was started with SNUG_CONF=publish:on, by its own user and by root. Asking stops no thread
of it; --memory reads the kernel's records of its whole heap, which takes some milliseconds for each GiB.

Exit status: 0; 1 if a process cannot be asked; 2 for wrong usage.)";

std::vector<LiveStatistics> read_all(const std::vector<pid_t>& pids, bool with_memory, bool skips_faults) {
  std::vector<LiveStatistics> all;
  const auto patience = skips_faults ? LiveProcess::kPatienceWithOneOfAll : LiveProcess::kPatience;
  for (const pid_t pid : pids) {
    try {
      all.push_back(read_statistics(pid, with_memory, patience));
    } catch (const UserError&) {
      if (!skips_faults) throw;  // of those that were found, one may have ended meanwhile
    }
  }
  return all;
}

}  // namespace

StatsCommand::StatsCommand(CLI::App& app) {
  command_ = app.add_subcommand("stats", "Statistics of running processes, as a table, JSON or for Prometheus");
  command_->footer(kExamples);
  command_->add_option("process", words_, "Numbers of processes")->type_name("PID...");
  command_->add_flag("--all", all_, "All processes that publish and may be asked");
  command_->add_flag("--memory", memory_, "Also where each byte in memory is");
  auto* classes = command_->add_flag("--classes", classes_, "Also each size class; JSON has them in any case");
  auto* json = command_->add_flag("--json", json_, "As JSON, an object a line (snug.statistics/1)");
  auto* prometheus =
      command_->add_flag("--prometheus", prometheus_, "In Prometheus' text format")->excludes(json)->excludes(classes);
  command_->add_option("--listen", address_, "Serve that at http://HOST:PORT/metrics, until told to end")
      ->type_name("HOST:PORT")
      ->excludes(json)
      ->excludes(classes)
      ->excludes(prometheus);
}

int StatsCommand::execute() const {
  if (words_.empty() && !all_) throw UserError("name a process by its number, or --all, as in: snug stats 1234");
  if (!words_.empty() && all_) throw UserError("--all takes no number");
  std::vector<pid_t> named;
  for (const std::string& word : words_) named.push_back(process_number(word));
  const auto pids = [&] { return all_ ? published_processes() : named; };
  if (!address_.empty()) {
    const MetricsServer server(address_);
    say("snug: serving /metrics at port {}\n", server.port());
    server.serve([&] {
      try {
        return prometheus_text(read_all(pids(), memory_, true));
      } catch (const std::exception&) {
        return std::string();  // no files left to look at /proc by, say: the next scrape may find some
      }
    });
  }
  const std::vector<LiveStatistics> all = read_all(pids(), memory_, all_);
  if (all.empty()) throw UserError("no process publishes that may be asked (SNUG_CONF=publish:on)", EXIT_FAILURE);
  OutputFile output(kStandardOutput);
  if (prometheus_) output.put(prometheus_text(all));
  for (const LiveStatistics& statistics : all) {
    if (prometheus_) break;
    output.put(json_ ? json_text(statistics.json) + "\n"
                     : (&statistics == all.data() ? "" : "\n") + statistics_table(statistics, classes_));
  }
  output.finish();
  return EXIT_SUCCESS;
}

}  // namespace snug::tool
