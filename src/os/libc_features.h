// What the C library that snug is built with has, for conditionals of this folder, and how its headers declare
// functions.
//
// A binary that is built with an old glibc runs on newer ones: what is missing here may be there at run time.
#pragma once

#include <features.h>

#if defined(__GLIBC__)
#define SNUG_IS_GLIBC 1
// Of a function that libc's headers declare and the library defines: the two must agree.
#define SNUG_LIBC_NOEXCEPT noexcept
#if __GLIBC_PREREQ(2, 32)
#define SNUG_LIBC_TELLS_SINGLE_THREADED 1
#else
#define SNUG_LIBC_TELLS_SINGLE_THREADED 0
#endif
#if __GLIBC_PREREQ(2, 35)
#define SNUG_LIBC_FINDS_OBJECTS 1
#else
#define SNUG_LIBC_FINDS_OBJECTS 0
#endif
#else
#define SNUG_IS_GLIBC 0
#define SNUG_LIBC_NOEXCEPT
#define SNUG_LIBC_TELLS_SINGLE_THREADED 0
#define SNUG_LIBC_FINDS_OBJECTS 0
#endif
