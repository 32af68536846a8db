#include "doctor/program_findings.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>

#include <algorithm>
#include <array>

#include "doctor/deepbind_call.h"
#include "process/c_library.h"

namespace snug::tool {

namespace {

using Weight = Finding::Weight;

// Functions by which an allocator is known, and a text of its messages, which is left when a program is stripped.
struct KnownAllocator {
  const char* name;
  std::array<std::string_view, 4> functions;  // empty: none
  std::string_view message;
};
constexpr std::array kAllocators = {
    KnownAllocator{"snug", {"snug_malloc"}, ""},
    KnownAllocator{"jemalloc", {"mallctl", "je_mallctl", "je_malloc", "_rjem_malloc"}, "<jemalloc>: "},
    KnownAllocator{"mimalloc", {"mi_malloc"}, "mimalloc: error: "},
    KnownAllocator{"tcmalloc", {"tc_version", "tc_malloc", "TCMallocInternalMalloc"}, "tcmalloc: allocation failed"},
    KnownAllocator{"tbbmalloc", {"scalable_malloc", "__TBB_malloc_proxy"}, ""},
    KnownAllocator{"rpmalloc", {"rpmalloc"}, ""},
    KnownAllocator{"glibc", {"gnu_get_libc_version", "__libc_malloc"}, ""},
    KnownAllocator{kUnknownAllocator, {"malloc"}, ""},
};

// Functions of other allocators that hand out, look up or take back blocks beside malloc and free.
constexpr std::array kForeignFunctions = {"mallocx",       "dallocx",     "sdallocx",  "rallocx", "xallocx",
                                          "sallocx",       "mi_malloc",   "mi_free",   "mi_new",  "tc_malloc",
                                          "tc_free",       "tc_new",      "je_malloc", "je_free", "scalable_malloc",
                                          "scalable_free", "_rjem_malloc"};

// Functions by which a program asks an allocator for its figures, or gives it orders.
constexpr std::array<const char*, 12> kStatisticsFunctions = {"mallctl",
                                                              "mallctlbymib",
                                                              "malloc_stats_print",
                                                              "je_mallctl",
                                                              "je_malloc_stats_print",
                                                              "mi_stats_print",
                                                              "mi_stats_reset",
                                                              "mi_process_info",
                                                              "mi_collect",
                                                              "MallocExtension_GetNumericProperty",
                                                              "MallocExtension_GetStats",
                                                              "MallocExtension_ReleaseFreeMemory"};

bool holds_text(const ElfFile& file, std::string_view text) {
  return std::any_of(file.segments().begin(), file.segments().end(), [&](const ElfFile::Segment& segment) {
    const std::string_view bytes(reinterpret_cast<const char*>(segment.bytes.data()), segment.bytes.size());
    return (segment.flags & (PF_W | PF_X)) == 0 && bytes.find(text) != std::string_view::npos;
  });
}

bool is_go(const ElfFile& program) {
  return program.has_section(".go.buildinfo") || program.has_section(".note.go.buildid");
}

constexpr const char* kGoRemedy = "Nothing: no malloc serves Go's objects (GOGC and GOMEMLIMIT steer their memory).";

const Finding kStatic{"static", Weight::kBlocks, "it is linked statically",
                      "No dynamic linker runs, so nobody reads LD_PRELOAD.",
                      "Link it dynamically, or call snug_malloc of libsnug.a in its source."};
const Finding kGoStatic{"static", Weight::kBlocks, "it is a Go program, linked statically",
                        "Go manages its own memory and calls no malloc; nobody reads LD_PRELOAD.", kGoRemedy};
const Finding kGo{"go", Weight::kPartly, "it is a Go program",
                  "Go manages its own memory; only its C code (cgo) calls malloc.", kGoRemedy};
const Finding kMusl{"musl", Weight::kBlocks, "it runs on musl, not on glibc",
                    "This libsnug.so is one for glibc; musl's dynamic linker cannot load it.",
                    "Take snug's library for musl, or a build of the program for glibc, as Debian's."};
const Finding kGlibc{"glibc", Weight::kBlocks, "it runs on glibc, not on musl",
                     "This libsnug.so is one for musl; glibc's dynamic linker cannot load it.",
                     "Take snug's library for glibc."};
const Finding kDeepbind{
    "deepbind", Weight::kBlocks, "it opens libraries by dlopen with RTLD_DEEPBIND",
    "Such a library calls libc's free for blocks of the preloaded malloc, and the process aborts; so "
    "it does under any other preloaded malloc.",
    "Start it without such modules (php -n), have them built into it, leave it on libc's malloc, or preload a "
    "second library that drops the flag: snug's docs/recipes.md has one, for PHP."};
const Finding kPython{"python", Weight::kPartly, "it is Python, which keeps objects of up to 512 bytes to itself",
                      "Python's own allocator takes memory for them from the kernel, so malloc never sees them.",
                      "Set PYTHONMALLOC=malloc."};
const Finding kPhp{"php", Weight::kPartly, "it is PHP, which has an allocator of its own",
                   "The Zend allocator takes its memory from the kernel, so malloc hardly sees any of it.",
                   "Set USE_ZEND_ALLOC=0."};

// Whether the kernel gives the program more rights than its user has: an obstacle for that user.
void add_privileges(const Patient& patient, Findings& findings) {
  const std::string& path = patient.program.path();
  struct stat status{};
  struct statvfs system{};
  if (stat(path.c_str(), &status) != 0 || statvfs(path.c_str(), &system) != 0) return;
  if ((system.f_flag & ST_NOSUID) != 0 || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1) return;
  const auto add = [&](const char* what, bool is_gain) {
    findings.push_back({"privileges", is_gain ? Weight::kBlocks : Weight::kNote, what,
                        is_gain
                            ? "The dynamic linker ignores LD_PRELOAD for programs that run with more rights than "
                              "their caller."
                            : "Started by you it gains no rights; started by others it does, and the dynamic linker "
                              "ignores LD_PRELOAD then.",
                        "Link it against libsnug.so (-lsnug) if it is to be served all the same."});
  };
  if ((status.st_mode & S_ISUID) != 0) add("it is setuid", status.st_uid != patient.user);
  const bool is_group_run = (status.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP);
  if (is_group_run) add("it is setgid", status.st_gid != patient.group);
  if (getxattr(path.c_str(), "security.capability", nullptr, 0) > 0) add("it has file capabilities", patient.user != 0);
}

bool has_pythons_main(const ElfFile& file) { return file.exports("Py_BytesMain") || file.exports("Py_Main"); }

bool is_python(const Patient& patient) {
  return has_pythons_main(patient.program) ||
         std::any_of(patient.libraries.begin(), patient.libraries.end(), has_pythons_main);
}

bool python_uses_malloc(const Environment& environment) {
  return environment.get("PYTHONMALLOC").value_or("").starts_with("malloc");
}

void add_own_malloc(const Patient& patient, Findings& findings) {
  const ElfFile& program = patient.program;
  const std::string found = allocator_in(program);
  if (found.empty() || found == "snug") return;  // snug serves it without a preload
  const bool serves_all = program.exports("malloc");
  // From 3.13 on Python has a mimalloc in it, which serves its objects if one asks for that, and never its malloc.
  if (!serves_all && found == "mimalloc" && has_pythons_main(program)) return;
  findings.push_back(
      {"own-malloc", serves_all ? Weight::kBlocks : Weight::kPartly, fmt::format("it has {} built in", found),
       serves_all ? "A program's own malloc comes before that of any preloaded library."
                  : "What its own code asks of that, no preload serves; what its libraries ask of malloc, it does.",
       "Build it without that malloc; many programs have an option for it."});
}

// The first of those functions that the program calls of the library; null if it calls none.
const char* statistics_call(const ElfFile& program, const ElfFile& library) {
  for (const ElfFile::Import& import : program.imports()) {
    const auto* const found = std::find(kStatisticsFunctions.begin(), kStatisticsFunctions.end(), import.name);
    if (found != kStatisticsFunctions.end() && library.exports(*found)) return *found;
  }
  return nullptr;
}

void add_linked_malloc(const Patient& patient, Findings& findings) {
  const ElfFile* library = exporter_of_malloc(patient.libraries);
  if (library == nullptr) return;
  const std::string name = allocator_in(*library);
  if (name == "glibc" || name == "snug") return;
  const std::string file = library->soname().empty() ? library->path() : library->soname();
  for (const ElfFile::Import& import : patient.program.imports()) {
    if (std::find(kForeignFunctions.begin(), kForeignFunctions.end(), import.name) == kForeignFunctions.end()) continue;
    findings.push_back(
        {"linked-malloc", Weight::kBlocks, fmt::format("it calls {} of {}", import.name, file),
         "Such functions stay with that library: blocks that malloc takes from the preload and they free, "
         "or the other way round, end the program.",
         "Build it without that library, or preload a second one that leads such calls to malloc: snug's "
         "docs/recipes.md has one, for Redis."});
    return;
  }
  if (const char* function = statistics_call(patient.program, *library)) {
    findings.push_back(
        {"linked-malloc", Weight::kNote,
         fmt::format("it is linked against {}, and asks {} for its figures ({})", file, name, function),
         fmt::format(
             "A preload comes before it and serves all of malloc. {0} stays loaded and idle, and goes on to answer: "
             "what the program shows of its allocator is {0}'s, as the mem_allocator and allocator_ fields of "
             "Redis's INFO memory, and speaks of a heap that nobody uses. What it sets of its malloc has no effect.",
             name),
         "Nothing, but look elsewhere for memory: at the process's resident memory (used_memory_rss of INFO memory), "
         "and at snug's own figures by snug run --report or SNUG_CONF=report:FILE."});
    return;
  }
  findings.push_back(
      {"linked-malloc", Weight::kNote, fmt::format("it is linked against {}", file),
       "A preload comes before it and serves all of malloc. What the program asks or sets of its own malloc "
       "(statistics, MALLOC_CONF and the like) then has no effect.",
       "Nothing."});
}

}  // namespace

std::string allocator_in(const ElfFile& file) {
  std::vector<std::string_view> functions;
  for (const KnownAllocator& known : kAllocators)
    functions.insert(functions.end(), known.functions.begin(), known.functions.end());
  std::erase(functions, "");
  const auto defined = file.definitions_among(functions);
  const auto is_defined = [&](std::string_view function) { return defined.contains(function); };
  for (const KnownAllocator& known : kAllocators) {
    if (std::any_of(known.functions.begin(), known.functions.end(), is_defined)) return known.name;
  }
  if (!file.is_stripped()) return {};
  for (const KnownAllocator& known : kAllocators) {
    if (!known.message.empty() && holds_text(file, known.message)) return known.name;
  }
  return {};
}

const ElfFile* exporter_of_malloc(const std::vector<ElfFile>& files) {
  const auto found =
      std::find_if(files.begin(), files.end(), [](const ElfFile& file) { return file.exports("malloc"); });
  return found == files.end() ? nullptr : &*found;
}

Findings program_findings(const Patient& patient) {
  const ElfFile& program = patient.program;
  if (!program.is_native()) {
    return {{"machine", Weight::kBlocks, fmt::format("it is made for {}", program.machine()),
             "A library can only be loaded by a program for the same machine.",
             "Take a build of it for this machine."}};
  }
  if (!program.is_dynamic()) return {is_go(program) ? kGoStatic : kStatic};
  const bool is_on_musl = program.interpreter().find("ld-musl") != std::string::npos;
  // The tool and its library are for the same one.
  if (is_on_musl != (CLibrary::current().name == "musl")) return {is_on_musl ? kMusl : kGlibc};

  Findings findings;
  add_privileges(patient, findings);
  add_own_malloc(patient, findings);
  add_linked_malloc(patient, findings);
  if (calls_dlopen_with_deepbind(program)) findings.push_back(kDeepbind);
  if (is_go(program)) findings.push_back(kGo);
  if (is_python(patient) && !python_uses_malloc(patient.environment)) findings.push_back(kPython);
  if (program.exports("_emalloc") && patient.environment.get("USE_ZEND_ALLOC") != "0") findings.push_back(kPhp);
  return findings;
}

}  // namespace snug::tool
