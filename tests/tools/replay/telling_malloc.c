// What replays are tried on. Libc serves, by the names that it has for its own functions.
//
// Says in which order blocks of 1000 and of 2000 bytes are freed, in the file $TELL. Where $THREADS is
// "refused" it starts no thread, where it is "quit" it ends the program at the first, as if all were well, and
// where it is "helped" it has a thread of its own beside the first.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
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

static void* help(void* argument) {
  for (;;) pause();
  return argument;
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*begin)(void*), void* argument) {
  const char* const threads = getenv("THREADS");
  if (threads != NULL && strcmp(threads, "refused") == 0) return EAGAIN;
  if (threads != NULL && strcmp(threads, "quit") == 0) _exit(0);
  int (*const create)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*) = dlsym(RTLD_NEXT, "pthread_create");
  static int has_helper = 0;
  pthread_t helper;
  if (threads != NULL && strcmp(threads, "helped") == 0 && !__atomic_exchange_n(&has_helper, 1, __ATOMIC_RELAXED))
    create(&helper, NULL, help, NULL);
  return create(thread, attributes, begin, argument);
}
