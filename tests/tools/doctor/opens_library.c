// Opens a library by dlopen with FLAGS, as a program opens its modules.
#include <dlfcn.h>
#include <stddef.h>

int main(int count, char** arguments) {
  if (count < 2) return 0;
  return dlopen(arguments[1], FLAGS) == NULL;
}
