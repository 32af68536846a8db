/* EXPECT abort: snug: (free|delete|operator delete)\({address}\): not a block of this heap
 * delete_static.cc: a variable of the program's data is deleted. */
#include "misuse.h"

static char variable[64];

int main() {
  announce(variable);
  delete static_cast<char*>(hidden(variable));
  return 0;
}
