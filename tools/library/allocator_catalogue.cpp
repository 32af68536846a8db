#include "library/allocator_catalogue.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "library/snug_library.h"
#include "process/c_library.h"
#include "process/measured_process.h"
#include "process/served_proof.h"
#include "process/temporary_folder.h"
#include "snug/snug.h"
#include "text/user_error.h"

namespace snug::tool {

namespace {

namespace fs = std::filesystem;

// The origin of the library, and so where it lies and how to get it.
enum class Source {
  kCLibrary,  // this process's own
  kDebian,    // a package; the library is where the distribution has its libraries
  kCrate,     // bench/harness/allocators/fetch, into the peers' folder
};

struct CatalogueEntry {
  const char* name;
  std::array<const char*, 2> files;  // in order of preference
  Source source;
  const char* package = nullptr;  // Debian's name of it
};

constexpr std::array kCatalogue = {
    CatalogueEntry{"glibc", {}, Source::kCLibrary},
    CatalogueEntry{"musl", {}, Source::kCLibrary},
    CatalogueEntry{"jemalloc", {"libjemalloc.so.2", nullptr}, Source::kDebian, "libjemalloc2"},
    CatalogueEntry{"mimalloc", {"libmimalloc.so.2", "libmimalloc.so.3"}, Source::kDebian, "libmimalloc2.0"},
    CatalogueEntry{"mimalloc3", {"libmimalloc3.so", nullptr}, Source::kCrate},
    CatalogueEntry{"mimalloc2", {"libmimalloc2.so", nullptr}, Source::kCrate},
    CatalogueEntry{"snmalloc", {"libsnmalloc.so", nullptr}, Source::kCrate},
    CatalogueEntry{"jemalloc_tikv", {"libjemalloc_tikv.so", nullptr}, Source::kCrate},
    CatalogueEntry{"tcmalloc_google", {"libtcmalloc_google.so", nullptr}, Source::kCrate},
    CatalogueEntry{"rpmalloc", {"librpmalloc.so", nullptr}, Source::kCrate},
    CatalogueEntry{"hardened_malloc", {"libhardened_malloc.so", nullptr}, Source::kCrate},
    CatalogueEntry{"tlsf", {"libtlsf.so", nullptr}, Source::kCrate},
    CatalogueEntry{
        "tcmalloc", {"libtcmalloc_minimal.so.4", "libtcmalloc.so.4"}, Source::kDebian, "libtcmalloc-minimal4"},
    // LLVM keeps its runtimes in a folder of its own.
    CatalogueEntry{"scudo",
                   {"/usr/lib/llvm-19/lib/clang/19/lib/linux/libclang_rt.scudo_standalone-x86_64.so", nullptr},
                   Source::kDebian,
                   "libclang-rt-19-dev"},
    // The proxy is what replaces malloc; libtbbmalloc.so.2 alone does not.
    CatalogueEntry{"tbbmalloc", {"libtbbmalloc_proxy.so.2", nullptr}, Source::kDebian, "libtbbmalloc2"},
};

constexpr const char* kPeersVariable = "SNUG_PEERS";
constexpr std::string_view kWithoutHugePages = "-nothp";
constexpr double kIdentifyTimeLimit = 20;

// The file that holds the code at `address`; empty if unknown.
std::string file_of(const void* address) {
  Dl_info info;
  if (dladdr(address, &info) == 0) return {};
  std::error_code error;
  const fs::path path = fs::canonical(info.dli_fname, error);
  return error ? std::string() : path.string();
}

// libc's own folder is the distribution's folder of libraries, multiarch or not.
std::vector<fs::path> library_folders() {
  const fs::path libc_folder = fs::path(file_of(CLibrary::current().function)).parent_path();
  return {libc_folder, "/usr/local/lib", "/usr/lib64", "/usr/lib"};
}

// The build folders of the source tree that this tool was built in, if it has not been installed.
fs::path build_folders() {
  std::error_code error;
  return fs::canonical("/proc/self/exe", error).parent_path().parent_path().parent_path();  // build/release/bin/snug
}

// $SNUG_PEERS, or build/peers/lib of that tree.
fs::path peers_folder() {
  if (const auto chosen = Environment::current().get(kPeersVariable)) return *chosen;
  return build_folders() / "peers" / "lib";
}

// What builds a peer; an installed tool has it not beside it.
std::string how_to_build(const CatalogueEntry& entry) {
  std::error_code error;
  const fs::path script = build_folders().parent_path() / "bench" / "harness" / "allocators" / "fetch";
  return fs::exists(script, error) ? fmt::format("run {} {}, or ", script.string(), entry.name) : "build it, then ";
}

std::string find_c_library(const CatalogueEntry& entry) {
  const CLibrary own = CLibrary::current();
  if (own.name == entry.name) return file_of(own.function);
  throw UserError(fmt::format("{} is not the C library that this snug runs with, which is {}", entry.name, own.name));
}

std::string find_library(const CatalogueEntry& entry) {
  if (entry.source == Source::kCLibrary) return find_c_library(entry);
  const bool is_debians = entry.source == Source::kDebian;
  for (const char* file : entry.files) {
    if (file == nullptr) continue;
    for (const fs::path& folder : is_debians ? library_folders() : std::vector{peers_folder()}) {
      std::error_code error;
      const fs::path path = fs::canonical(folder / file, error);
      if (!error) return path;
    }
  }
  if (is_debians) {
    throw UserError(fmt::format("{} is not installed ({} not found): apt-get install {}", entry.name, entry.files[0],
                                entry.package));
  }
  throw UserError(fmt::format("{} is not here (no {} in {}): {}set {} to its folder, or name the library's path",
                              entry.name, entry.files[0], peers_folder().string(), how_to_build(entry),
                              kPeersVariable));
}

std::string library_of(const std::string& name, const std::string& snug_library) {
  if (name == "snug") return snug_library;
  for (const CatalogueEntry& entry : kCatalogue) {
    if (name == entry.name) return find_library(entry);
  }
  if (name.find('/') == std::string::npos) {
    throw UserError(
        fmt::format("no allocator '{}': known are snug, {} (each also with -nothp), or give the path of a library, as "
                    "./lib{}.so, or NAME=./lib{}.so",
                    name, fmt::join(known_allocators(), ", "), name, name));
  }
  std::error_code error;
  const fs::path path = fs::canonical(name, error);
  if (error) throw UserError(fmt::format("no library '{}': {}", name, error.message()));
  return library_at(path).path();
}

// A function that the library itself defines: dlsym would go on to what it depends on, and any of them depends on libc.
template <typename Function>
Function* find_function(const std::string& path, const char* name) {
  void* library = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  void* function = library == nullptr ? nullptr : dlsym(library, name);
  return file_of(function) == path ? reinterpret_cast<Function*>(function) : nullptr;
}

// mimalloc's number for its version had one digit each for minor and patch at first, then two.
std::string mimalloc_version(int number) {
  const int base = number < 10000 ? 10 : 100;
  return fmt::format("{}.{}.{}", number / base / base, number / base % base, number % base);
}

// What stands in the text beside a library of the peers' folder; else the file's name has to do.
std::string written_version(const fs::path& library) {
  constexpr std::string_view kKey = "version: ";
  std::ifstream text(fs::path(library).replace_extension(".txt"));
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with(kKey)) return line.substr(kKey.size());
  }
  return library.filename();
}

// Each allocator has its own way to tell its version, or none.
std::string version_of(const std::string& path) {
  if (auto* snug_version = find_function<const char*()>(path, "snug_version")) return snug_version();
  if (auto* mallctl = find_function<int(const char*, void*, size_t*, void*, size_t)>(path, "mallctl")) {
    const char* version = "";
    size_t size = sizeof version;
    if (mallctl("version", &version, &size, nullptr, 0) == 0)
      return std::string(version).substr(0, std::string(version).find('-'));
  }
  if (auto* mi_version = find_function<int()>(path, "mi_version")) {
    return mimalloc_version(mi_version());
  }
  if (auto* tc_version = find_function<const char*(int*, int*, const char**)>(path, "tc_version")) {
    int major = 0, minor = 0;
    const char* patch = "";
    return tc_version(&major, &minor, &patch);
  }
  if (const CLibrary own = CLibrary::current(); path == file_of(own.function) && !own.version.empty())
    return own.version;
  return written_version(path);
}

constexpr const char* kSettings = "snug_config_get";

bool counts_served(const std::string& path) {
  auto* snug_config = find_function<int(std::size_t, snug_config_entry*)>(path, kSettings);
  snug_config_entry entry{};
  for (std::size_t i = 0; snug_config != nullptr && snug_config(i, &entry) == 0; ++i) {
    if (std::string_view(entry.key) == kServedKey) return true;
  }
  return false;
}

}  // namespace

std::vector<std::string> known_allocators() {
  std::vector<std::string> names;
  for (const CatalogueEntry& entry : kCatalogue) names.emplace_back(entry.name);
  return names;
}

Allocator find_allocator(const std::string& name, const std::string& snug_library) {
  const std::size_t equals = name.substr(0, name.find('/')).find('=');
  Allocator allocator{.name = name.substr(0, equals), .library = {}, .version = {}};
  std::string base = equals == std::string::npos ? name : name.substr(equals + 1);
  if (allocator.name.empty()) throw UserError(fmt::format("'{}' names no allocator before the '='", name));
  if (base.ends_with(kWithoutHugePages)) {
    base.resize(base.size() - kWithoutHugePages.size());
    allocator.huge_pages = HugePages::kRefused;
  }
  allocator.is_snug = base == "snug";
  allocator.library = library_of(base, snug_library);
  return allocator;
}

std::vector<Allocator> find_allocators(const std::vector<std::string>& names, const std::string& snug_library,
                                       const std::string& option) {
  std::vector<Allocator> allocators = {find_allocator("snug", snug_library)};
  bool has_named_snug = false;
  for (const std::string& name : names) {
    if (name == "snug" && !has_named_snug) {
      has_named_snug = true;
      continue;
    }
    Allocator allocator = find_allocator(name, snug_library);
    const auto has_name = [&](const Allocator& other) { return other.name == allocator.name; };
    if (std::ranges::any_of(allocators, has_name))
      throw UserError(fmt::format("{}: '{}' stands there twice", option, allocator.name));
    allocators.push_back(std::move(allocator));
  }
  return allocators;
}

Identity identify(const Allocator& allocator, const HeldSignals& signals) {
  const TemporaryFolder folder;
  Command command{.arguments = {"/proc/self/exe", kPrintIdentityArgument},
                  .environment = Environment::current(),
                  .input = "/dev/null",
                  .output = folder.path() / "identity",
                  .errors = folder.path() / "errors",
                  .group = ProcessGroup::kOwn,
                  .huge_pages = allocator.huge_pages};
  command.environment.preload(allocator.library);
  const Measurement run = measure(command, signals, kIdentifyTimeLimit, nullptr);
  if (run.ending == Ending::kInterrupted) throw UserError("interrupted", 128 + run.code);
  if (!run.succeeded()) {
    throw UserError(
        fmt::format("{} ({}) cannot serve even this tool: {}", allocator.name, allocator.library, run.ending_text()));
  }
  std::ifstream file(command.output);
  const auto printed = nlohmann::json::parse(file, nullptr, false);
  if (!printed.is_object() || !printed.contains("malloc_library") || !printed.contains("version") ||
      !printed.contains("counts_served")) {
    throw UserError(
        fmt::format("{} ({}) cannot serve even this tool: it ended well, but said something else than it "
                    "was to say",
                    allocator.name, allocator.library));
  }
  return {printed.at("malloc_library"), printed.at("version"), printed.at("counts_served")};
}

bool has_settings(const Allocator& allocator) { return library_at(allocator.library).exports(kSettings); }

int print_identity() {
  const std::string library = file_of(dlsym(RTLD_DEFAULT, "malloc"));
  std::cout << nlohmann::json{{"malloc_library", library},
                              {"version", version_of(library)},
                              {"counts_served", counts_served(library)}}
            << '\n';
  return std::cout.flush() ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace snug::tool
