#include "doctor/system_findings.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>

#include "print/quantity.h"

namespace snug::tool {

namespace fs = std::filesystem;

namespace {

using Weight = Finding::Weight;

std::optional<std::uint64_t> number(const std::string& text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end != text.data() ? std::optional(value) : std::nullopt;
}

std::string first_line(const fs::path& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  return line;
}

// What stands behind `key` in a file of lines "key value"; empty if no line begins so.
std::string value_behind(const fs::path& file, std::string_view key) {
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t start = line.find_first_not_of(" \t", key.size());
    return start == std::string::npos ? "" : line.substr(start, line.find_first_of(" \t", start) - start);
  }
  return {};
}

// The limit of the group at `path` below `root`, or of one that it lies in. In a container the path may be the host's,
// which is not to be seen there: then the root is the container's own group.
void lower_to_limits(const fs::path& root, const fs::path& path, const char* file,
                     std::optional<std::uint64_t>& least) {
  for (fs::path group = path;; group = group.parent_path()) {
    const auto limit = number(first_line(root / group.relative_path() / file));
    if (limit && (!least || *limit < *least)) least = limit;
    if (group == group.parent_path() || group.empty()) return;
  }
}

std::uint64_t physical_memory() {
  return static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

// What gives a program huge pages where it has none; empty where it may have them.
std::string remedy_for_huge_pages(const Surroundings& around) {
  if (value_behind(around.process / "status", "THP_enabled:") == "0")
    return "Start it from a process that has not refused them for its children (by prctl, PR_SET_THP_DISABLE).";
  if (first_line(around.sys / "kernel/mm/transparent_hugepage/enabled").find("[never]") != std::string::npos)
    return "As root: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled";
  return {};
}

}  // namespace

std::optional<std::uint64_t> control_group_limit(const Surroundings& around) {
  const fs::path root = around.sys / "fs/cgroup";
  std::optional<std::uint64_t> least;
  std::ifstream groups(around.process / "cgroup");
  for (std::string line; std::getline(groups, line);) {  // "0::/path" in v2, "9:memory:/path" in v1
    std::istringstream fields(line);
    std::string id, controllers, path;
    std::getline(fields, id, ':');
    std::getline(fields, controllers, ':');
    std::getline(fields, path);
    if (controllers.empty()) lower_to_limits(root, path, "memory.max", least);
    if (("," + controllers + ",").find(",memory,") != std::string::npos)
      lower_to_limits(root / "memory", path, "memory.limit_in_bytes", least);
  }
  // v1 writes no limit as the largest number.
  return least && *least < physical_memory() ? least : std::nullopt;
}

Findings system_findings(const Surroundings& around) {
  Findings findings;
  if (const std::string remedy = remedy_for_huge_pages(around); !remedy.empty()) {
    findings.push_back({"no-huge-pages", Weight::kNote, "it runs without transparent huge pages",
                        "snug works so, but large heaps cost more time than they would in huge pages.", remedy});
  }
  if (const auto limit = number(value_behind(around.process / "limits", "Max address space"))) {
    findings.push_back(
        {"address-space", Weight::kNote,
         fmt::format("its address space is limited to {}", value_text(static_cast<double>(*limit), kBytes)),
         "snug reserves addresses ahead of their use; it reserves less under a limit, and malloc returns "
         "null where that is reached.",
         "ulimit -v unlimited; to limit memory, take a control group (systemd's MemoryMax=, docker -m)."});
  }
  if (const auto limit = control_group_limit(around)) {
    findings.push_back({"memory-limit", Weight::kNote,
                        fmt::format("its control group (container) is limited to {} of memory",
                                    value_text(static_cast<double>(*limit), kBytes)),
                        "Freed memory that snug keeps for the next requests counts towards that limit.",
                        "If it is tight: SNUG_CONF=retain:0,retain_large:0,idle_thread:on keeps least."});
  }
  const std::string preload = around.environment.get("LD_PRELOAD").value_or("");
  if (!preload.empty()) {
    findings.push_back({"ld-preload", Weight::kNote, fmt::format("LD_PRELOAD is set already: {}", preload),
                        "Of several preloaded libraries the first that defines malloc serves it.",
                        "Nothing with snug run, which puts snug first; else put libsnug.so first yourself."});
  }
  return findings;
}

}  // namespace snug::tool
