/* EXPECT fault with check:sample: snug: access to {address}: its block is already free; block {address} of 1040 .*
 * sampled_handler.c: the handler that was there before runs too, and what it does not mend ends the process. The
 * program sets it up before its first allocation, so that snug finds it. */
#include "misuse.h"

#include <signal.h>

static void handler(int signal_number) {
  if (write(1, "", 0) == 0) signal(signal_number, SIG_DFL);
}

__attribute__((constructor)) static void set_up(void) { signal(SIGSEGV, handler); }

int main(void) {
  char* block = sampled(1);
  announce(block);
  free(block);
  return *(volatile char*)hidden(block);
}
