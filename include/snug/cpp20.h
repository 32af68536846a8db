// Says so and stops the compiler where C++ is too old for snug's headers. Whichever of them is read first includes it.
#pragma once

#if __cplusplus < 202002L
// An #error would let the compiler go on, to a page of errors behind this one; a file that is not there ends it.
#include <snug's C++ headers need C++20: compile with -std=c++20 or later>
#endif
