/* EXPECT told with sized_delete:trust: snug: free\({address}\): not a block of this heap \(found as the process ends\)
 * delete_static_before_end.cc: a variable is deleted with a size that is trusted, so that it lies in the cache as the
 * process ends, with its status. */
#include <new>

#include "misuse.h"

static char variable[64];

int main() {
  ::operator delete(hidden(::operator new(64)));  // so that the class has a cache
  announce(variable);
  ::operator delete(hidden(variable), size_t{64});
  return 7;
}
