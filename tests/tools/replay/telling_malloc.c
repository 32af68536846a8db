// Says in which order blocks of 1000 and of 2000 bytes are freed, in the file $TELL: libc serves, by the names that it
// has for its own functions.
#include <fcntl.h>
#include <malloc.h>
#include <stdlib.h>
#include <unistd.h>

void* __libc_malloc(size_t size);
void __libc_free(void* block);

void* malloc(size_t size) { return __libc_malloc(size); }

void free(void* block) {
  const size_t size = block == NULL ? 0 : malloc_usable_size(block);
  const char* const file = getenv("TELL");
  if (file != NULL && (size / 100 == 10 || size / 100 == 20)) {
    const int descriptor = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    const char digit = size / 100 == 10 ? '1' : '2';
    if (write(descriptor, &digit, 1) != 1) abort();
    close(descriptor);
  }
  __libc_free(block);
}
