# Notes which folders an installation is about to make, beside its manifest in SNUG_BUILD_FOLDER, so that
# cmake/uninstall.cmake takes away those and no other. Runs at the start of each installation; SNUG_FOLDERS are those
# that files come to.
set(list "${SNUG_BUILD_FOLDER}/install_folders.txt")
if(CMAKE_INSTALL_COMPONENT)
  set(list "${SNUG_BUILD_FOLDER}/install_folders_${CMAKE_INSTALL_COMPONENT}.txt")
endif()
set(made "")
if(EXISTS "${list}")
  file(STRINGS "${list}" noted)
  foreach(folder IN LISTS noted)
    if(IS_DIRECTORY "${folder}")  # by an installation before
      list(APPEND made "${folder}")
    endif()
  endforeach()
endif()
set(prefix "${CMAKE_INSTALL_PREFIX}")
cmake_path(ABSOLUTE_PATH prefix)  # as in the manifest
foreach(folder IN LISTS SNUG_FOLDERS)
  cmake_path(ABSOLUTE_PATH folder BASE_DIRECTORY "${prefix}" NORMALIZE)
  set(folder "$ENV{DESTDIR}${folder}")
  while(NOT folder MATCHES "^/*$" AND NOT IS_DIRECTORY "${folder}")
    list(APPEND made "${folder}")
    cmake_path(GET folder PARENT_PATH folder)
  endwhile()
endforeach()
list(REMOVE_DUPLICATES made)
list(JOIN made "\n" lines)
file(WRITE "${list}" "${lines}\n")
