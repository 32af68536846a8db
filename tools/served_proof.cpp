#include "served_proof.h"

#include <fmt/format.h>

#include <fstream>
#include <optional>

namespace snug::tool {

namespace fs = std::filesystem;

namespace {

constexpr const char* kBindingsFile = "bindings";

std::string canonical_or_same(const std::string& path) {
  std::error_code error;
  const fs::path canonical = fs::canonical(path, error);
  return error ? path : canonical.string();
}

// The text between `before` and the next `after` in `line`, from `*position` on; moves `*position` behind it.
std::optional<std::string> between(const std::string& line, std::string_view before, std::string_view after,
                                   std::size_t* position) {
  const std::size_t start = line.find(before, *position);
  if (start == std::string::npos) return std::nullopt;
  const std::size_t from = start + before.size();
  const std::size_t end = line.find(after, from);
  if (end == std::string::npos) return std::nullopt;
  *position = end;
  return line.substr(from, end - from);
}

// From a line "1234: binding file USER [0] to PROVIDER [0]: normal symbol `malloc' [GLIBC_2.2.5]", the provider;
// nothing if the line is another one or the allocator itself asks for the malloc below it.
std::optional<std::string> malloc_provider(const std::string& line, const std::string& library) {
  if (line.find("symbol `malloc'") == std::string::npos) return std::nullopt;
  std::size_t position = 0;
  const auto user = between(line, "binding file ", " [", &position);
  const auto provider = between(line, "] to ", " [", &position);
  if (!user || !provider || canonical_or_same(*user) == library) return std::nullopt;
  return canonical_or_same(*provider);
}

}  // namespace

std::vector<nlohmann::json> read_reports(const fs::path& file) {
  std::vector<nlohmann::json> reports;
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    auto report = nlohmann::json::parse(line, nullptr, false);
    if (report.is_object()) reports.push_back(std::move(report));
  }
  return reports;
}

std::string Bindings::text() const {
  if (processes == 0) return "no dynamically linked process asked for malloc";
  std::string result = fmt::format("malloc bound to it in {} of {} processes", bound, processes);
  if (!other.empty()) result += fmt::format(", in others to {}", other);
  return result;
}

void request_bindings(Environment& environment, const fs::path& folder) {
  environment.set("LD_DEBUG", "bindings");
  environment.set("LD_DEBUG_OUTPUT", folder / kBindingsFile);
}

Bindings read_bindings(const fs::path& folder, const std::string& library) {
  Bindings bindings;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (!entry.path().filename().string().starts_with(kBindingsFile)) continue;
    bool bound = false;
    std::string other;
    std::ifstream stream(entry.path());
    for (std::string line; std::getline(stream, line);) {
      const auto provider = malloc_provider(line, library);
      if (!provider) continue;
      if (*provider == library) {
        bound = true;
      } else {
        other = *provider;
      }
    }
    // One binding to the allocator tells enough: in a program linked to a fixed address that takes malloc's address
    // (python3), libraries bind to its linkage table, and only that to the allocator.
    if (!bound && other.empty()) continue;
    bindings.processes += 1;
    bindings.bound += bound;
    if (!bound) bindings.other = other;
  }
  return bindings;
}

}  // namespace snug::tool
