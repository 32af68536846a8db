"""snug for Conan 2: `conan create packaging/conan` in snug's tree puts it into the cache of this machine.

A project that requires snug/VERSION finds what `make install` installs: with CMake find_package(snug) and its targets snug::snug
(libsnug.so, which serves malloc), snug::static (the snug_ names) and snug::headers.
"""

import re
from pathlib import Path

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy

COMPONENTS = ("runtime", "development")  # of cmake/install.cmake


class Snug(ConanFile):
    name = "snug"
    license = "MIT"
    description = "A memory allocator for Linux that takes the place of malloc"
    topics = ("malloc", "allocator", "memory")
    settings = "os", "arch", "compiler", "build_type"

    def tree(self) -> Path:
        return Path(self.recipe_folder).parent.parent

    def set_version(self) -> None:
        header = (self.tree() / "include" / "snug" / "snug.h").read_text()
        self.version = ".".join(re.findall(r"^#define SNUG_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)$", header, re.M))

    def export_sources(self) -> None:
        for pattern in ("CMakeLists.txt", "LICENSE", "cmake/*", "docs/man/*", "include/*", "src/*"):
            copy(self, pattern, self.tree(), self.export_sources_folder)

    def validate(self) -> None:
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration("snug is for Linux alone")

    def configure(self) -> None:
        # The libraries use no C++ runtime, and name the standard that they are written in.
        for name in ("compiler.cppstd", "compiler.libcxx"):
            self.settings.rm_safe(name)

    def layout(self) -> None:
        cmake_layout(self)

    def generate(self) -> None:
        toolchain = CMakeToolchain(self)
        for option in ("TOOLS", "BENCH", "TESTS"):
            toolchain.cache_variables[f"SNUG_BUILD_{option}"] = False
        toolchain.generate()

    def build(self) -> None:
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self) -> None:
        copy(self, "LICENSE", self.source_folder, Path(self.package_folder) / "licenses")
        for component in COMPONENTS:
            CMake(self).install(component=component)

    def package_info(self) -> None:
        # snug's own files for CMake and pkg-config say more than Conan could.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.set_property("pkg_config_name", "none")
        self.cpp_info.builddirs = ["lib/cmake/snug"]
        self.cpp_info.libs = ["snug"]
        # One word, as in cmake/snug.pc.in: the linker keeps this library although the program calls nothing by its name, and goes on
        # to treat others as it did.
        library = Path(self.package_folder) / "lib" / "libsnug.so"
        self.cpp_info.exelinkflags = [f"-Wl,--push-state,--no-as-needed,{library},--pop-state"]
