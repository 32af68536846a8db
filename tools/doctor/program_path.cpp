#include "doctor/program_path.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <sstream>
#include <string_view>

#include "doctor/shell_script.h"
#include "doctor/version_shim.h"
#include "text/user_error.h"

namespace snug::tool {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMostScripts = 8;                             // the kernel follows 5, before one becomes another
constexpr std::size_t kFirstLine = 256;                             // … and as much of the first line as it reads
constexpr const char* kUsualPath = "/usr/local/bin:/usr/bin:/bin";  // where there is no PATH
constexpr const char* kShell = "/bin/sh";
constexpr std::size_t kMostText = 16 << 10;  // of a script of the shell that is read

constexpr std::array<std::string_view, 8> kShells = {"sh", "bash", "dash", "ash", "ksh", "mksh", "zsh", "busybox"};

// What shells do themselves although no file of that name need exist.
constexpr std::array kBuiltins = {"alias",  "bg",   "cd",   "command", "declare", "eval",  "exec",  "exit",
                                  "export", "fg",   "hash", "jobs",    "local",   "read",  "set",   "shift",
                                  "source", "trap", "type", "typeset", "ulimit",  "umask", "unset", "wait"};

bool is_executable(const std::string& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && access(path.c_str(), X_OK) == 0;
}

std::string look_up(const std::string& name, const Environment& environment) {
  std::error_code error;
  if (name.find('/') != std::string::npos) {
    if (!fs::exists(name, error)) throw UserError(fmt::format("no program '{}'", name));
    if (fs::is_regular_file(name, error) && !is_executable(name))
      throw UserError(fmt::format("'{}' is no program: it is not executable", name));
    return name;
  }
  std::istringstream folders(environment.get("PATH").value_or(kUsualPath));
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::string path = fs::path(folder.empty() ? "." : folder) / name;
    if (is_executable(path)) return path;
  }
  if (std::find(kBuiltins.begin(), kBuiltins.end(), name) != kBuiltins.end()) {
    throw UserError(
        fmt::format("'{}' is a command of the shell, no program: name the shell, as in sh -c '{} …'", name, name));
  }
  const std::string here = fs::exists(name, error) ? fmt::format(" (for the file of that name here: ./{})", name) : "";
  throw UserError(fmt::format("no program '{}' in PATH{}", name, here));
}

bool is_assignment(const std::string& word) { return word.find('=') != std::string::npos; }

// What runs a script with the first line "#!" and then `line`: for `env NAME` the program of that name.
std::string interpreter_of(const std::string& line, const Environment& environment) {
  // The kernel's blanks: a carriage return belongs to the name.
  const std::size_t begin = line.find_first_not_of(" \t");
  if (begin == std::string::npos) return kShell;  // as for a file without such a line
  const std::string interpreter = line.substr(begin, line.find_first_of(" \t", begin) - begin);
  if (fs::path(interpreter).filename() != "env") return interpreter;
  std::istringstream words(line.substr(begin + interpreter.size()));
  for (std::string word; words >> word;) {
    if (word.starts_with("-S") && word.size() > 2) return look_up(word.substr(2), environment);
    if (word == "-u" || word == "--unset" || word == "-C" || word == "--chdir")
      words >> word;
    else if (!word.starts_with('-') && !is_assignment(word))
      return look_up(word, environment);
  }
  return interpreter;
}

// What executes a file that is no ELF file.
std::string interpreter_of(const FileBytes& file, const Environment& environment) {
  const auto bytes = file.all().first(std::min(file.all().size(), kFirstLine));
  const std::string start(bytes.begin(), bytes.end());
  if (start.starts_with("#!")) {
    // The kernel reads a string: a line may end in a null as well.
    const std::size_t end = std::min(start.find('\n'), start.find('\0'));
    return interpreter_of(start.substr(2, end - 2), environment);
  }
  if (start.find('\0') != std::string::npos || start.empty())
    throw UserError(fmt::format("'{}' is no program: neither an ELF file nor a script", file.path()));
  return kShell;  // as execvp(3) does
}

bool is_shell(const std::string& interpreter) {
  const std::string name = fs::path(interpreter).filename();
  return std::find(kShells.begin(), kShells.end(), name) != kShells.end();
}

// The file that the shell's script becomes; nothing if that cannot be known. Says either in `script`.
std::optional<std::string> next_program(const FileBytes& file, const Environment& environment, Script& script) {
  const auto bytes = file.all().first(std::min(file.all().size(), kMostText));
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (auto shim = shim_target(script.path, text, environment)) {
    script.reason = shim->reason;
    return shim->program;
  }
  const ScriptEnd end = script_end(text, script.path, environment);
  script.reason = end.program ? "it ends by exec of that program" : end.reason;
  if (!end.program) return std::nullopt;
  Environment changed = environment;
  if (end.search_path) changed.set("PATH", *end.search_path);
  try {
    return look_up(*end.program, changed);
  } catch (const UserError&) {
    script.reason = fmt::format("it becomes '{}' (exec), which is not there", *end.program);
    return std::nullopt;
  }
}

}  // namespace

ProgramFile find_program(const std::string& name, const Environment& environment) {
  std::string path = look_up(name, environment);
  std::vector<Script> scripts;
  const auto has_seen = [&](const std::string& file) {
    return std::any_of(scripts.begin(), scripts.end(), [&](const Script& script) { return script.path == file; });
  };
  for (;;) {
    FileBytes file(path);
    if (ElfFile::is_elf(file)) return {std::move(scripts), ElfFile(std::move(file))};
    Script script{.path = path, .part = Script::Part::kRun, .reason = {}};
    if (scripts.size() >= kMostScripts)
      throw UserError(fmt::format("'{}': scripts that run scripts without an end", name));
    const std::string interpreter = interpreter_of(file, environment);
    if (!is_executable(interpreter)) {
      throw UserError(fmt::format("'{}' is a script for '{}', which cannot be executed{}", path, interpreter,
                                  interpreter.ends_with('\r') ? ": its lines end in carriage returns" : ""));
    }
    const auto next = is_shell(interpreter) ? next_program(file, environment, script) : std::nullopt;
    const bool is_circle = next && (*next == path || has_seen(*next));
    if (is_circle) script.reason = "it becomes a script that it has come from (exec)";
    if (next && !is_circle) script.part = Script::Part::kBecome;
    path = script.part == Script::Part::kBecome ? *next : interpreter;
    scripts.push_back(std::move(script));
  }
}

}  // namespace snug::tool
