/* plugin.c: a library that a program opens while it runs, and closes again. It allocates as it comes and as it goes. */
#include <stdlib.h>
#include <string.h>

static char* block;

__attribute__((constructor)) static void begin(void) { block = strdup("of the plugin"); }
__attribute__((destructor)) static void end(void) { free(block); }

char* plugin_text(void) { return strdup(block); }
