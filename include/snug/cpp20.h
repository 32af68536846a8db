// Says so, before the compiler says it worse, where C++ is too old for snug's headers. Whichever of them is read first
// includes it.
#pragma once

#if __cplusplus < 202002L
#error "snug's C++ headers need C++20: compile with -std=c++20 or later"
#endif
