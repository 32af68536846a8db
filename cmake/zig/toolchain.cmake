# A CMake toolchain file for other processors and C libraries: Zig's compiler, which brings headers and stubs of each.
# scripts/cross_build passes SNUG_ZIG, the compiler's path, and SNUG_TARGET, as aarch64-linux-musl.
set(CMAKE_SYSTEM_NAME Linux)
string(REGEX REPLACE "-.*" "" CMAKE_SYSTEM_PROCESSOR "${SNUG_TARGET}")
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES SNUG_ZIG SNUG_TARGET)

set(CMAKE_C_COMPILER ${SNUG_ZIG} cc -target ${SNUG_TARGET})
set(CMAKE_CXX_COMPILER ${SNUG_ZIG} c++ -target ${SNUG_TARGET})
# CMake wants one program to make archives, and Zig's is a command of the compiler.
foreach(language C CXX)
  set(CMAKE_${language}_ARCHIVE_CREATE "\"${SNUG_ZIG}\" ar qc <TARGET> <LINK_FLAGS> <OBJECTS>")
  set(CMAKE_${language}_ARCHIVE_APPEND "\"${SNUG_ZIG}\" ar q <TARGET> <LINK_FLAGS> <OBJECTS>")
  set(CMAKE_${language}_ARCHIVE_FINISH "\"${SNUG_ZIG}\" ranlib <TARGET>")
endforeach()

# Zig's linker does not know these options: what they do scripts/cross_build does afterwards.
set(SNUG_LINKER_KNOWS_INITFIRST OFF)
set(SNUG_LINKER_KNOWS_SYMBOLIC_FUNCTIONS OFF)
set(SNUG_LINKER_KNOWS_UNDEFINED_WEAK OFF)
