#include "doctor/linked_libraries.h"

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "text/user_error.h"

namespace snug::tool {

namespace fs = std::filesystem;

namespace {

constexpr const char* kCache = "/etc/ld.so.cache";
constexpr std::string_view kCacheMagic = "glibc-ld.so.cache1.1";

// The list that ldconfig keeps of the system's libraries: a header, entries, and their texts behind them.
std::map<std::string, std::string, std::less<>> read_cache() {
  struct Header {
    char magic[20];
    std::uint32_t count, text_bytes, flags, extensions, unused[3];
  };
  struct Entry {
    std::int32_t flags;
    std::uint32_t name, path, os_version;
    std::uint64_t hardware;
  };
  std::map<std::string, std::string, std::less<>> paths;
  const FileBytes file(kCache);
  const auto header = file.read<Header>(0, "its entries");
  if (std::string_view(header.magic, sizeof header.magic) != kCacheMagic) return paths;
  for (std::uint64_t i = 0; i < header.count; ++i) {
    const auto entry = file.read<Entry>(sizeof(Header) + i * sizeof(Entry), "its entries");
    // Of several with one name the first is the best for this machine; those for others of its libraries are found out
    // when they are opened.
    paths.emplace(file.text(entry.name, "its texts"), file.text(entry.path, "its texts"));
  }
  return paths;
}

std::string replaced_origin(std::string folder, const std::string& origin) {
  for (const char* word : {"${ORIGIN}", "$ORIGIN"}) {
    const std::size_t found = folder.find(word);
    if (found != std::string::npos) folder.replace(found, std::string_view(word).size(), origin);
  }
  return folder;
}

class LibraryFinder {
 public:
  explicit LibraryFinder(const Environment& environment)
      : library_path_(environment.get("LD_LIBRARY_PATH").value_or("")) {
    try {
      cache_ = read_cache();
    } catch (const UserError&) {
      cache_.clear();  // there is none, or it is damaged: then only the folders are left
    }
  }

  std::optional<ElfFile> find(const std::string& name, const ElfFile& user) const {
    if (name.find('/') != std::string::npos) return opened(name);
    const std::string origin = fs::path(user.path()).parent_path();
    for (const std::string& folders : {library_path_, user.run_path()}) {
      std::istringstream stream(folders);
      for (std::string folder; std::getline(stream, folder, ':');) {
        if (folder.empty()) continue;
        if (auto library = opened(fs::path(replaced_origin(folder, origin)) / name)) return library;
      }
    }
    const auto cached = cache_.find(name);
    if (cached != cache_.end()) {
      if (auto library = opened(cached->second)) return library;
    }
    for (const char* folder : {"/lib64", "/usr/lib64", "/lib", "/usr/lib"}) {
      if (auto library = opened(fs::path(folder) / name)) return library;
    }
    return std::nullopt;
  }

 private:
  static std::optional<ElfFile> opened(const std::string& path) {
    try {
      std::error_code error;
      if (!fs::exists(path, error)) return std::nullopt;
      ElfFile file{FileBytes(path)};
      if (file.is_native()) return file;
    } catch (const UserError&) {
      return std::nullopt;  // the dynamic linker passes it over, or refuses the program: not our matter
    }
    return std::nullopt;
  }

  std::string library_path_;
  std::map<std::string, std::string, std::less<>> cache_;
};

}  // namespace

std::vector<ElfFile> linked_libraries(const ElfFile& program, const Environment& environment) {
  const LibraryFinder finder(environment);
  std::set<std::string> seen;
  const auto needed_by = [&](const ElfFile& user) {
    std::vector<ElfFile> found;
    for (const std::string& name : user.needed()) {
      if (!seen.insert(name).second) continue;
      if (auto library = finder.find(name, user)) found.push_back(std::move(*library));
    }
    return found;
  };
  std::vector<ElfFile> libraries = needed_by(program);
  for (std::size_t i = 0; i < libraries.size(); ++i) {
    for (ElfFile& library : needed_by(libraries[i])) libraries.push_back(std::move(library));
  }
  return libraries;
}

}  // namespace snug::tool
