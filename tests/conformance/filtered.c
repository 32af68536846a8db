/* filtered.c: a program that has locked itself up. A seccomp filter ends the process at any system call but those that
 * an allocator of this kind is known to make, and those that the program's own threads and messages need. Then it
 * allocates as servers do: many blocks of small and middle sizes written from end to end, a block that grows, threads,
 * a trim. `late`: it has had many blocks already when it locks itself up.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { kMostBlocks = 1 << 20, kThreads = 4 };

static const int kAllowed[] = {
    /* an allocator's */
    SYS_brk, SYS_mmap, SYS_munmap, SYS_mprotect, SYS_madvise, SYS_mremap, SYS_futex, SYS_clock_gettime, SYS_getrandom,
    /* libc's, for threads and messages */
    SYS_clone3, SYS_clone, SYS_set_robust_list, SYS_rseq, SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_sched_getaffinity,
    SYS_write, SYS_newfstatat, SYS_fstat, SYS_getpid, SYS_exit, SYS_exit_group,
    /* glibc's malloc counts the processors for its arenas by reading a file, and stdio seeks in files */
    SYS_openat, SYS_read, SYS_close, SYS_lseek};

enum { kAllowedCount = sizeof kAllowed / sizeof *kAllowed };

static int lock_up(void) {
  struct sock_filter program[kAllowedCount + 3];
  size_t length = 0;
  program[length++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
  for (size_t i = 0; i < kAllowedCount; ++i)
    program[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)kAllowed[i],
                                                     (unsigned char)(kAllowedCount - i), 0);
  program[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
  program[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  const struct sock_fprog filter = {(unsigned short)length, program};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

static void fill(size_t size, size_t bytes) {
  static void* blocks[kMostBlocks];
  const size_t count = bytes / size;
  for (size_t i = 0; i < count; ++i) {
    blocks[i] = malloc(size);
    if (blocks[i] == NULL) _exit(2);
    memset(blocks[i], 1, size);
  }
  for (size_t i = 0; i < count; i += 2) free(blocks[i]);
  for (size_t i = 1; i < count; i += 2) free(blocks[i]);
}

static void grow(void) {
  char* block = NULL;
  for (size_t size = 1 << 16; size < (48u << 20); size += 1 << 18) {
    block = realloc(block, size);
    if (block == NULL) _exit(3);
    memset(block + size - (1 << 16), 1, 1 << 16);
  }
  free(block);
}

static void* work(void* unused) {
  void* blocks[1000];
  for (int round = 0; round < 200; ++round) {
    for (size_t i = 0; i < 1000; ++i) blocks[i] = malloc(16 + i * 7);
    for (size_t i = 0; i < 1000; ++i) free(blocks[i]);
  }
  return unused;
}

int main(int count, char** words) {
  fill(100, count > 1 && strcmp(words[1], "late") == 0 ? 16u << 20 : 100);
  if (!lock_up()) {
    perror("filtered: seccomp");
    return 77;
  }
  for (size_t size = 100; size < 200000; size *= 10) fill(size, 64u << 20);
  for (int round = 0; round < 3; ++round) grow();
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i)
    if (pthread_create(&threads[i], NULL, work, NULL) != 0) return 4;
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  malloc_trim(0);
  malloc_stats();
  puts("the filter let all pass");
  return 0;
}
