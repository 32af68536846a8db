// A library with a constructor that waits for a thread, while dlopen() holds the dynamic linker's lock. What the thread
// calls must not ask for that lock.
#define _GNU_SOURCE
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static void* call_what_is_recorded(void* nothing) {
  char* memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) abort();
  memory = mremap(memory, 4096, 8192, MREMAP_MAYMOVE);
  munmap(memory, 8192);
  if (sbrk(0) == NULL || brk(sbrk(0)) != 0) abort();
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, NULL, 0);
  return nothing;
}

__attribute__((constructor)) static void wait_for_a_thread(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, call_what_is_recorded, NULL) != 0) abort();
  pthread_join(thread, NULL);
}
