/* serving.c [leaks]: a server that lives in sessions, for soaks. Four threads answer requests in bursts and sleep in
 * between; a fifth begins and ends a thread for each connection. What is live stays about the same for ever: 20,000
 * sessions of 16 bytes to 4 KiB, of which any thread replaces any, so that many blocks are freed by another thread than
 * their own; a buffer that grows by realloc for each burst; now and then a large block. Prints a line when all is
 * filled, and ends with its input.
 *
 * With "leaks" it forgets 256 KiB of sessions, keeps a mapping and leaves a file open each tenth of a second.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { kSessions = 20000, kBurst = 500, kThreads = 4, kLargeMost = 1 << 20 };

static char* sessions[kSessions];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static uint32_t next(uint64_t* state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(*state >> 33);
}

static char* make(size_t bytes) {
  char* block = malloc(bytes);
  if (block == NULL) abort();
  memset(block, 1, bytes);
  return block;
}

__attribute__((noinline)) static char* make_session(uint64_t* state) { return make(16 + next(state) % 4081); }

__attribute__((noinline)) static void replace_session(uint64_t* state) {
  char* made = make_session(state);
  const uint32_t place = next(state) % kSessions;
  pthread_mutex_lock(&lock);
  char* old = sessions[place];
  sessions[place] = made;
  pthread_mutex_unlock(&lock);
  free(old);
}

__attribute__((noinline)) static void append_to_log(uint64_t* state) {
  char* log = NULL;
  for (size_t bytes = 100; bytes < 40000; bytes += bytes / 2) {
    log = realloc(log, bytes);
    if (log == NULL) abort();
    log[bytes - 1] = (char)next(state);
  }
  free(log);
}

static void answer_burst(uint64_t* state) {
  for (int i = 0; i < kBurst; ++i) replace_session(state);
  append_to_log(state);
  if (next(state) % 8 == 0) free(make(1 + next(state) % kLargeMost));
}

static void* serve(void* number) {
  uint64_t state = (uintptr_t)number;
  for (;;) {
    answer_burst(&state);
    usleep(100000);
  }
  return NULL;
}

static void* serve_connection(void* number) {
  uint64_t state = (uintptr_t)number << 20;
  answer_burst(&state);
  return NULL;
}

static void* accept_connections(void* nothing) {
  for (uintptr_t number = 1;; ++number) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, serve_connection, (void*)number) != 0) abort();
    pthread_join(thread, NULL);
    usleep(200000);
  }
  return nothing;
}

static void* leak(void* number) {
  uint64_t state = (uintptr_t)number;
  for (int mapping = 0;; ++mapping) {
    for (size_t bytes = 0; bytes < (256 << 10); bytes += 2048) make_session(&state);
    /* Of two in a row with the same rights the kernel makes one. */
    if (mmap(NULL, 4096, mapping % 2 == 0 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
      abort();
    if (open("/dev/null", O_RDONLY) < 0) abort();
    usleep(100000);
  }
  return NULL;
}

int main(int count, char** words) {
  uint64_t state = 1;
  for (int i = 0; i < kSessions; ++i) sessions[i] = make_session(&state);
  pthread_t thread;
  for (uintptr_t number = 2; number < 2 + kThreads; ++number) pthread_create(&thread, NULL, serve, (void*)number);
  pthread_create(&thread, NULL, accept_connections, NULL);
  if (count > 1 && strcmp(words[1], "leaks") == 0) pthread_create(&thread, NULL, leak, (void*)99);
  puts("ready");
  fflush(stdout);
  while (getchar() != EOF) continue;
  return 0;
}
