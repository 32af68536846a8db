// Stops the compiler with a message if C++ is too old for snug's headers. Each of them includes this first.
#pragma once

#if __cplusplus < 202002L
// After an #error the compiler would go on, to a page of further errors; a missing file stops it.
#include <snug's C++ headers need C++20: compile with -std=c++20 or later>
#endif
