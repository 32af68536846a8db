# Removes what the last `make install` from this build has installed, and of its folders those that are snug's alone and
# those that an installation has made, as far as they are empty then. Run with -P; -DMANIFEST=the list that CMake wrote
# when it installed, -DMADE_FOLDERS=the one of cmake/note_folders.cmake. DESTDIR counts as it did then.
cmake_minimum_required(VERSION 3.25)  # its policies, IN_LIST among them
if(NOT EXISTS "${MANIFEST}")
  message(FATAL_ERROR "nothing to remove: ${MANIFEST}, which `make install` writes, is not there")
endif()

set(made "")
if(EXISTS "${MADE_FOLDERS}")
  file(STRINGS "${MADE_FOLDERS}" made)
endif()

function(remove_if_empty folder)
  while(IS_DIRECTORY "${folder}" AND
        ("${folder}" IN_LIST made OR folder MATCHES "/(include|cmake|lib[^/]*|lib/[^/]+)/snug(/|$)"))
    file(GLOB entries LIST_DIRECTORIES TRUE "${folder}/*" "${folder}/.*")
    if(entries)
      return()
    endif()
    file(REMOVE_RECURSE "${folder}")
    message(STATUS "Removed: ${folder}")
    cmake_path(GET folder PARENT_PATH folder)
  endwhile()
endfunction()

file(STRINGS "${MANIFEST}" files)
foreach(file IN LISTS files)
  set(file "$ENV{DESTDIR}${file}")
  if(IS_SYMLINK "${file}" OR EXISTS "${file}")
    file(REMOVE "${file}")
    message(STATUS "Removed: ${file}")
  else()
    message(STATUS "Not there: ${file}")
  endif()
  cmake_path(GET file PARENT_PATH folder)
  remove_if_empty("${folder}")
endforeach()
file(REMOVE "${MANIFEST}" "${MADE_FOLDERS}")
