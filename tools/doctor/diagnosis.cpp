#include "doctor/diagnosis.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "doctor/linked_libraries.h"
#include "doctor/program_findings.h"
#include "doctor/program_path.h"
#include "doctor/running_process.h"
#include "doctor/system_findings.h"
#include "print/table.h"
#include "text/printable.h"
#include "text/user_error.h"

namespace snug::tool {

namespace {

const char* weight_name(Finding::Weight weight) {
  switch (weight) {
    case Finding::Weight::kBlocks:
      return "blocks";
    case Finding::Weight::kPartly:
      return "partly";
    case Finding::Weight::kNote:
      return "note";
  }
  return "";
}

const char* effect_of(const Finding& finding) {
  switch (finding.weight) {
    case Finding::Weight::kBlocks:
      return "in the way of snug";
    case Finding::Weight::kPartly:
      return "snug serves a part";
    case Finding::Weight::kNote:
      return "worth knowing";
  }
  return "";
}

Findings findings_of(const ProgramFile& file, const Environment& environment) {
  if (file.elf.is_native() && file.elf.is_library())
    throw UserError(fmt::format("'{}' is a library: name a program that loads it", file.elf.path()));
  const auto libraries = file.elf.is_native() ? linked_libraries(file.elf, environment) : std::vector<ElfFile>();
  return program_findings({file.elf, libraries, environment, getuid(), getgid()});
}

void append(Findings& findings, Findings more) {
  findings.insert(findings.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

// "it …" as a sentence.
std::string sentence(std::string words) {
  if (!words.empty() && words.front() >= 'a' && words.front() <= 'z') words.front() -= 'a' - 'A';
  return words + ".";
}

// "/usr/bin/python3, which ~/.pyenv/shims/python3 becomes, which runs ~/job.py"
std::string with_scripts(std::string name, const std::vector<Script>& scripts) {
  for (auto script = scripts.rbegin(); script != scripts.rend(); ++script) {
    const bool is_left = script->part == Script::Part::kBecome;
    name += is_left ? fmt::format(", which {} becomes", script->path) : fmt::format(", which runs {}", script->path);
  }
  return name;
}

// What is known of the shell's scripts that lead to the program, `name` as it was asked for.
Findings script_findings(const std::vector<Script>& scripts, const std::string& name) {
  Findings findings;
  const std::string command = fmt::format("snug run --report {}", name);
  for (const Script& script : scripts) {
    if (script.reason.empty()) continue;
    if (script.part == Script::Part::kBecome) {
      findings.push_back({"script", Finding::Weight::kNote, fmt::format("{} is a script that becomes it", script.path),
                          sentence(script.reason) + " It was read, not run.",
                          fmt::format("Nothing; {} names the program that allocated most.", command)});
    } else {
      findings.push_back(
          {"script", Finding::Weight::kNote,
           fmt::format("{} is a script, and which program it leads to cannot be told by reading it", script.path),
           sentence(script.reason) + " What is said here is true of the shell alone.",
           fmt::format("{} runs it, and names the program that allocated most: ask snug doctor of that one.",
                       command)});
    }
  }
  return findings;
}

// "  why   words and words
//         and words"
std::string labelled(const std::string& label, const std::string& words, std::size_t width) {
  constexpr std::size_t kIndent = 8;
  std::string result;
  for (const std::string& line : wrapped(printable(words), width - kIndent))
    result += fmt::format("{:<{}}{}\n", result.empty() ? "  " + label : "", kIndent, line);
  return result;
}

ServingMalloc serving_malloc(const RunningProcess& process, const std::vector<ElfFile>& libraries) {
  const ElfFile& program = process.program();
  if (!program.is_dynamic() || program.exports("malloc")) {
    const std::string allocator = allocator_in(program);
    return {allocator.empty() ? kUnknownAllocator : allocator, process.executable()};
  }
  const ElfFile* library = exporter_of_malloc(libraries);
  if (library == nullptr) throw UserError(fmt::format("cannot find the malloc of {}", process.folder()));
  return {allocator_in(*library), library->path().substr(process.folder().size() + std::string_view("/root").size())};
}

}  // namespace

bool Diagnosis::in_the_way() const {
  return std::any_of(findings.begin(), findings.end(), std::mem_fn(&Finding::in_the_way));
}

std::string Diagnosis::text(std::size_t width) const {
  std::string name = with_scripts(program, scripts);
  if (pid) name = fmt::format("process {} ({})", *pid, program);
  name = printable(name);
  std::string result;
  if (malloc)
    result += fmt::format("{}: malloc is served by {}, {}\n", name, malloc->allocator, printable(malloc->file));
  if (!in_the_way()) {
    const bool is_shell_alone = std::any_of(scripts.begin(), scripts.end(), [](const Script& script) {
      return script.part == Script::Part::kRun && !script.reason.empty();
    });
    if (!malloc || malloc->allocator != "snug") {
      result +=
          fmt::format("{}: nothing stands in the way of snug{}\n", name, is_shell_alone ? " in the shell itself" : "");
    }
  }
  // What stands in the way comes first.
  for (const bool in_the_way : {true, false}) {
    for (const Finding& finding : findings) {
      if (finding.in_the_way() != in_the_way) continue;
      result += fmt::format("{}: {}: {}\n", name, effect_of(finding), printable(finding.what));
      result += labelled("why", finding.why, width) + labelled("do", finding.remedy, width);
    }
  }
  return result;
}

nlohmann::ordered_json Diagnosis::json() const {
  auto paths = nlohmann::ordered_json::array();
  for (const Script& script : scripts) paths.push_back(script.path);
  nlohmann::ordered_json json = {{"schema", "snug.doctor/1"}, {"program", program}, {"scripts", paths}};
  if (pid) json["pid"] = *pid;
  if (malloc) json["malloc"] = {{"allocator", malloc->allocator}, {"file", malloc->file}};
  json["in_the_way"] = in_the_way();
  json["findings"] = nlohmann::ordered_json::array();
  for (const Finding& finding : findings) {
    json["findings"].push_back({{"id", finding.id},
                                {"weight", weight_name(finding.weight)},
                                {"what", finding.what},
                                {"why", finding.why},
                                {"remedy", finding.remedy}});
  }
  return json;
}

Diagnosis diagnose_program(const std::string& name, const Environment& environment) {
  const ProgramFile file = find_program(name, environment);
  Diagnosis diagnosis{file.elf.path(), file.scripts, {}, {}, findings_of(file, environment)};
  append(diagnosis.findings, script_findings(file.scripts, name));
  append(diagnosis.findings, system_findings({.process = "/proc/self", .environment = environment}));
  return diagnosis;
}

Diagnosis diagnose_process(pid_t pid) {
  const RunningProcess process(pid);
  const std::vector<ElfFile> libraries = process.libraries();
  Diagnosis diagnosis{process.executable(), {}, pid, {}, {}};
  if (process.program().is_native()) diagnosis.malloc = serving_malloc(process, libraries);
  diagnosis.findings = program_findings(
      {process.program(), libraries, process.environment(), process.real_user(), process.real_group()});
  append(diagnosis.findings, system_findings({.process = process.folder(), .environment = process.environment()}));
  if (diagnosis.malloc && diagnosis.malloc->allocator == "snug") {
    std::erase_if(diagnosis.findings, [](const Finding& finding) {
      return finding.weight == Finding::Weight::kBlocks || std::string_view(finding.id) == "ld-preload";
    });
  }
  return diagnosis;
}

std::string hindrance(const std::string& name, const Environment& environment) {
  try {
    for (const Finding& finding : findings_of(find_program(name, environment), environment)) {
      if (finding.in_the_way())
        return fmt::format("{}: {}: {} (snug doctor {} tells more)", name, effect_of(finding), finding.what, name);
    }
  } catch (const UserError&) {
    return {};  // starting it will say so
  }
  return {};
}

}  // namespace snug::tool
