# What is installed, in three components as Debian splits them: runtime (what a linked program needs), development (what
# building one needs) and tools (the snug command). The Makefile's `install` strips; `cmake --install` does with --strip.
include(CMakePackageConfigHelpers)

set(snug_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/snug)
set(snug_pkgconfig_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
set(snug_archives snug_static snug_cell snug_cell_rt)
# Debian's zsh looks into vendor-completions for what packages bring.
set(SNUG_ZSH_FOLDER ${CMAKE_INSTALL_DATADIR}/zsh/site-functions CACHE STRING "Where zsh finds completions, below the prefix")

set(snug_gdb_dir ${CMAKE_INSTALL_DATADIR}/gdb/auto-load${CMAKE_INSTALL_FULL_LIBDIR})

# First, while they are not there.
set(snug_folders ${CMAKE_INSTALL_LIBDIR} ${CMAKE_INSTALL_LIBDIR}/snug ${CMAKE_INSTALL_BINDIR} ${CMAKE_INSTALL_INCLUDEDIR}
                 ${CMAKE_INSTALL_MANDIR}/man1 ${CMAKE_INSTALL_MANDIR}/man3 ${snug_cmake_dir} ${snug_pkgconfig_dir}
                 ${CMAKE_INSTALL_DATADIR}/bash-completion/completions ${SNUG_ZSH_FOLDER} ${snug_gdb_dir})
install(CODE "set(SNUG_BUILD_FOLDER \"${PROJECT_BINARY_DIR}\")
  set(SNUG_FOLDERS \"${snug_folders}\")" ALL_COMPONENTS)
install(SCRIPT cmake/note_folders.cmake ALL_COMPONENTS)

if(TARGET snug_shared)
  install(TARGETS snug_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime
                                      NAMELINK_COMPONENT development)
endif()

install(TARGETS ${snug_archives} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
# CMake strips programs and shared libraries alone; an archive keeps its symbols and loses what is for debuggers.
set(snug_installed_libdir "\${CMAKE_INSTALL_PREFIX}")
cmake_path(APPEND snug_installed_libdir "${CMAKE_INSTALL_LIBDIR}")
foreach(archive ${snug_archives})
  install(CODE "if(CMAKE_INSTALL_DO_STRIP)
    execute_process(COMMAND \"${CMAKE_STRIP}\" --strip-debug --enable-deterministic-archives
                            \"\$ENV{DESTDIR}${snug_installed_libdir}/$<TARGET_FILE_NAME:${archive}>\"
                    COMMAND_ERROR_IS_FATAL ANY)
  endif()" COMPONENT development)
endforeach()
install(DIRECTORY include/snug DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
install(FILES docs/man/libsnug.3 docs/man/snug_heap.3 docs/man/snug_limits.3 docs/man/snug_realtime.3
        DESTINATION ${CMAKE_INSTALL_MANDIR}/man3 COMPONENT development)

set(snug_soname libsnug.so.${PROJECT_VERSION_MAJOR})
configure_package_config_file(cmake/snugConfig.cmake.in ${PROJECT_BINARY_DIR}/snugConfig.cmake
                              INSTALL_DESTINATION ${snug_cmake_dir}
                              PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
# Below 1.0 a new minor version may take something away.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/snugConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/snugConfig.cmake ${PROJECT_BINARY_DIR}/snugConfigVersion.cmake
        DESTINATION ${snug_cmake_dir} COMPONENT development)

# The .pc files find the prefix from where they lie, so that an installation may be moved as a whole. Folders that are named by
# absolute paths, as Nix and Guix do, stay where they are.
file(RELATIVE_PATH snug_up_to_prefix /prefix/${snug_pkgconfig_dir} /prefix)
string(REGEX REPLACE "/$" "" snug_up_to_prefix ${snug_up_to_prefix})
set(snug_pc_prefix "\${pcfiledir}/${snug_up_to_prefix}")
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
  set(snug_pc_prefix "${CMAKE_INSTALL_PREFIX}")
endif()
foreach(kind LIB INCLUDE)
  set(snug_pc_${kind} "\${prefix}")
  cmake_path(APPEND snug_pc_${kind} "${CMAKE_INSTALL_${kind}DIR}")
endforeach()
foreach(module snug snug-static)
  configure_file(cmake/${module}.pc.in ${PROJECT_BINARY_DIR}/${module}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${module}.pc DESTINATION ${snug_pkgconfig_dir} COMPONENT development)
endforeach()

if(TARGET snug_tool)
  if(TARGET snug_shared)
    # GDB looks for it by the library's path, below the folders that it trusts.
    install(FILES tools/gdb/libsnug-gdb.py RENAME libsnug.so.${PROJECT_VERSION}-gdb.py COMPONENT tools
            DESTINATION ${snug_gdb_dir})
  endif()
  install(TARGETS snug_tool RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tools)
  if(TARGET snug_recorder)
    install(TARGETS snug_recorder LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/snug COMPONENT tools)
    install(TARGETS snug_replayer snug_component_replayer RUNTIME DESTINATION ${CMAKE_INSTALL_LIBDIR}/snug COMPONENT tools)
  endif()
  install(FILES docs/man/snug.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT tools)
  install(FILES tools/completion/snug.bash RENAME snug COMPONENT tools
          DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES tools/completion/_snug DESTINATION ${SNUG_ZSH_FOLDER} COMPONENT tools)
endif()
