#include "process/served_proof.h"

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "process/c_library.h"

namespace snug::tool {

namespace fs = std::filesystem;

namespace {

constexpr const char* kBindingsFile = "bindings";
constexpr const char* kServedFile = "served";

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

// One line "1234: binding file USER [0] to PROVIDER [0]: normal symbol `malloc' [GLIBC_2.2.5]".
struct MallocBinding {
  std::string user;
  std::string provider;
};

std::optional<MallocBinding> malloc_binding(const std::string& line) {
  if (line.find("symbol `malloc'") == std::string::npos) return std::nullopt;
  std::size_t position = 0;
  const auto user = between(line, "binding file ", " [", &position);
  const auto provider = between(line, "] to ", " [", &position);
  if (!user || !provider) return std::nullopt;
  return MallocBinding{canonical_or_same(*user), canonical_or_same(*provider)};
}

// libc binds its own use of malloc once, before main: the first that is heard of malloc in each program.
bool begins_program(const MallocBinding& binding) { return fs::path(binding.user).filename() == "libc.so.6"; }

// Reads what one process wrote, program after program.
class ProcessReading {
 public:
  ProcessReading(const std::string& library, Bindings& bindings) : library_(library), bindings_(bindings) {}
  ~ProcessReading() { end_program(); }

  void read(const MallocBinding& binding) {
    if (begins_program(binding)) {
      end_program();
    } else if (binding.user == library_) {
      return;  // it wraps the malloc below it
    }
    if (binding.provider == library_) {
      bound_ = true;
    } else {
      other_ = binding.provider;
    }
  }

 private:
  // One binding to the allocator tells enough: in a program linked to a fixed address that takes malloc's address
  // (python3), libraries bind to its linkage table, and only that to the allocator.
  void end_program() {
    if (bound_ || !other_.empty()) bindings_.programs += 1;
    if (bound_) {
      bindings_.bound += 1;
    } else if (!other_.empty()) {
      bindings_.other = other_;
    }
    bound_ = false;
    other_.clear();
  }

  const std::string& library_;
  Bindings& bindings_;
  bool bound_ = false;
  std::string other_;
};

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

void request_count(Environment& environment, const fs::path& folder) {
  environment.configure_snug(fmt::format("{}:{}", kServedKey, (folder / kServedFile).string()));
}

Served count_served(const fs::path& folder) {
  Served served;
  for (const auto& process : read_reports(folder / kServedFile)) {
    served.allocations += process.value("allocations", std::uint64_t{0});
    served.processes += 1;
  }
  return served;
}

std::string Bindings::text() const {
  if (programs == 0) return "no dynamically linked program was started";
  std::string result = fmt::format("malloc bound to it in {} of {} programs", bound, programs);
  if (!other.empty()) result += fmt::format(", in others to {}", other);
  return result;
}

bool can_request_bindings() { return CLibrary::current().name == "glibc"; }

void request_bindings(Environment& environment, const fs::path& folder) {
  environment.set("LD_DEBUG", "bindings");
  environment.set("LD_DEBUG_OUTPUT", folder / kBindingsFile);
}

Bindings read_bindings(const fs::path& folder, const std::string& library) {
  Bindings bindings;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (!entry.path().filename().string().starts_with(kBindingsFile)) continue;
    ProcessReading reading(library, bindings);
    std::ifstream stream(entry.path());
    for (std::string line; std::getline(stream, line);) {
      if (const auto binding = malloc_binding(line)) reading.read(*binding);
    }
  }
  return bindings;
}

}  // namespace snug::tool
