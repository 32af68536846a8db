// What code is loaded from: held against the loader's own list.
#include "os/loaded_module.h"

#include <fcntl.h>
#include <gnu/libc-version.h>
#include <gtest/gtest.h>
#include <link.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace snug::os {
namespace {

uintptr_t address_of_code(auto function) { return reinterpret_cast<uintptr_t>(function); }

// By how much the loader has moved the module that the address lies in.
uintptr_t bias_around(uintptr_t address) {
  struct Search {
    uintptr_t address;
    uintptr_t bias = 0;
  } search{address};
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* argument) {
        auto* const wanted = static_cast<Search*>(argument);
        for (int i = 0; i != info->dlpi_phnum; ++i) {
          const ElfW(Phdr)& segment = info->dlpi_phdr[i];
          if (segment.p_type == PT_LOAD && wanted->address - (info->dlpi_addr + segment.p_vaddr) < segment.p_memsz) {
            wanted->bias = info->dlpi_addr;
            return 1;
          }
        }
        return 0;
      },
      &search);
  return search.bias;
}

void some_function() {}

TEST(LoadedModule, NamesTheProgramAndThePlaceInIt) {
  const uintptr_t address = address_of_code(&some_function);
  LoadedModule module;
  ASSERT_TRUE(find_module(address, &module));
  EXPECT_EQ(module.path, std::filesystem::read_symlink("/proc/self/exe").string());
  EXPECT_EQ(module.address, address - bias_around(address));
}

TEST(LoadedModule, NamesALibraryAndThePlaceInIt) {
  const uintptr_t address = address_of_code(&::gnu_get_libc_version);  // which no sanitizer puts itself before
  LoadedModule module;
  ASSERT_TRUE(find_module(address, &module));
  EXPECT_NE(std::string(module.path).find("/libc"), std::string::npos) << module.path;
  EXPECT_EQ(module.address, address - bias_around(address));
}

TEST(LoadedModule, TheKernelsOwnCodeHasItsPlaceInItsImage) {
  const uintptr_t start = ::getauxval(AT_SYSINFO_EHDR);
  if (start == 0) GTEST_SKIP() << "this kernel maps none";
  LoadedModule module;
  ASSERT_TRUE(find_module(start + 0x40, &module));
  EXPECT_STREQ(module.path, "[vdso]");
  EXPECT_EQ(module.address, 0x40u);
}

TEST(LoadedModule, WhatCannotRunIsInNone) {
  static int datum;
  int local = 0;
  LoadedModule module;
  for (const void* address : {static_cast<const void*>(&datum), static_cast<const void*>(&local),
                              static_cast<const void*>(nullptr), reinterpret_cast<const void*>(~uintptr_t{0})}) {
    EXPECT_FALSE(find_module(reinterpret_cast<uintptr_t>(address), &module)) << address;
    EXPECT_STREQ(module.path, "");
  }
}

TEST(LoadedModule, CodeOfNoFileHasItsBareAddress) {
  void* const code = ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (code == MAP_FAILED) GTEST_SKIP() << "nobody may map code here";
  const uintptr_t address = reinterpret_cast<uintptr_t>(code) + 12;
  LoadedModule module;
  ASSERT_TRUE(find_module(address, &module));
  EXPECT_STREQ(module.path, "");
  EXPECT_EQ(module.address, address);
  ::munmap(code, 4096);
}

// A file that is no ELF, as a just-in-time compiler may have; and a path longer than what is kept of it.
class MappedFile {
 public:
  explicit MappedFile(off_t offset) {
    char folder[] = "/tmp/snug_module_XXXXXX";
    if (::mkdtemp(folder) == nullptr) return;
    root_ = folder;
    const std::filesystem::path deep = root_ / std::string(200, 'a') / std::string(200, 'b');
    std::filesystem::create_directories(deep);
    path_ = deep / "code";
    const int file = ::open(path_.c_str(), O_RDWR | O_CREAT, 0600);
    if (file < 0 || ::ftruncate(file, 8192) != 0) return;
    void* const code = ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, offset);
    ::close(file);
    if (code != MAP_FAILED) start_ = reinterpret_cast<uintptr_t>(code);
  }
  ~MappedFile() {
    if (start_ != 0) ::munmap(reinterpret_cast<void*>(start_), 4096);
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  uintptr_t start() const { return start_; }
  std::string path() const { return path_; }

 private:
  std::filesystem::path root_;
  std::filesystem::path path_;
  uintptr_t start_ = 0;
};

TEST(LoadedModule, AFileThatIsNoModuleHasThePlaceInTheFile) {
  for (const off_t offset : {0, 4096}) {
    const MappedFile file(offset);
    if (file.start() == 0) GTEST_SKIP() << "nobody may map code of /tmp";
    LoadedModule module;
    ASSERT_TRUE(find_module(file.start() + 100, &module));
    EXPECT_EQ(module.address, static_cast<uint64_t>(offset) + 100);
    const std::string path = file.path();
    EXPECT_EQ(module.path, path.substr(path.size() - (sizeof module.path - 1)));
  }
}

}  // namespace
}  // namespace snug::os
