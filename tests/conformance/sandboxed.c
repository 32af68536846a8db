/* sandboxed.c: a program that locks itself up behind a seccomp filter, which ends the process at any system call that
 * is not on its list, and then allocates: small blocks, many of 2 KiB, blocks of all sizes, one that grows, a trim.
 *
 * Usage: sandboxed FILTER THREADS [late]
 *
 *   malloc     what glibc's malloc calls, and what ends a program
 *   threads    the same, and what libc calls as threads begin and end
 *   sshd       after OpenSSH's sandbox-seccomp-filter.c: it looks at the arguments of madvise, mmap and mprotect
 *   renderer   after Chromium's baseline policy: it looks at the flags of mmap, at advice, futexes and clone
 *   service    systemd's @system-service without @privileged and @resources
 *   broker     as `threads`, but that files are opened by a handler of SIGSYS, which refuses them
 *
 *   one        the program has one thread
 *   before     four more were begun before, have not allocated yet, and are behind the filter as well
 *   after      four are begun behind the filter
 *   beside     four were begun before, are not behind the filter, and allocate
 *
 *   late: it has had many blocks when it locks itself up. Exit status 77: the kernel has no filters.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

enum { kMostRules = 128, kMostSteps = 1024, kThreads = 4, kMostBlocks = 1 << 20 };

/* -- filters */

enum kind { kAllow, kRefuse, kOneOf, kWithin };

/* A call that is allowed; refused with an error; or allowed if an argument is one of some values, or has no bit beyond
 * a mask. Otherwise it is answered with `error`, or, if that is 0, ends the process. */
struct rule {
  int call;
  enum kind kind;
  unsigned argument;
  const unsigned* values; /* of kOneOf, ended by ~0u */
  unsigned mask;
  int error;
};

static struct sock_filter steps[kMostSteps];
static unsigned short length;

static void put(unsigned short code, unsigned word, unsigned char if_true, unsigned char if_false) {
  const struct sock_filter step = {code, if_true, if_false, word};
  if (length == kMostSteps) abort();
  steps[length++] = step;
}

static void put_verdict(unsigned verdict) { put(BPF_RET | BPF_K, verdict, 0, 0); }

static void put_load(size_t offset) { put(BPF_LD | BPF_W | BPF_ABS, (unsigned)offset, 0, 0); }

static void put_rule(const struct rule* rule) {
  const unsigned other = rule->error != 0 ? SECCOMP_RET_ERRNO | (unsigned)rule->error : SECCOMP_RET_KILL_PROCESS;
  put_load(offsetof(struct seccomp_data, nr));
  const unsigned short jump = length;
  put(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)rule->call, 0, 0); /* past this rule, once its length is known */
  if (rule->kind == kOneOf || rule->kind == kWithin) put_load(offsetof(struct seccomp_data, args) + 8 * rule->argument);
  if (rule->kind == kOneOf)
    for (const unsigned* value = rule->values; *value != ~0u; ++value) {
      put(BPF_JMP | BPF_JEQ | BPF_K, *value, 0, 1);
      put_verdict(SECCOMP_RET_ALLOW);
    }
  if (rule->kind == kWithin) {
    put(BPF_JMP | BPF_JSET | BPF_K, ~rule->mask, 1, 0);
    put_verdict(SECCOMP_RET_ALLOW);
  }
  put_verdict(rule->kind == kAllow ? SECCOMP_RET_ALLOW : other);
  steps[jump].jf = (unsigned char)(length - jump - 1);
}

static void allow(int call) {
  const struct rule rule = {.call = call, .kind = kAllow};
  put_rule(&rule);
}

static void allow_each(const int* calls, size_t count) {
  for (size_t i = 0; i < count; ++i) allow(calls[i]);
}
#define ALLOW_EACH(...)                              \
  do {                                               \
    static const int calls[] = {__VA_ARGS__};        \
    allow_each(calls, sizeof calls / sizeof *calls); \
  } while (0)

static void allow_values(int call, unsigned argument, const unsigned* values, int error) {
  const struct rule rule = {.call = call, .kind = kOneOf, .argument = argument, .values = values, .error = error};
  put_rule(&rule);
}

static void allow_mask(int call, unsigned argument, unsigned mask) {
  const struct rule rule = {.call = call, .kind = kWithin, .argument = argument, .mask = mask};
  put_rule(&rule);
}

static void refuse(int call, int error) {
  const struct rule rule = {.call = call, .kind = kRefuse, .error = error};
  put_rule(&rule);
}

static void list_malloc(void) {
  ALLOW_EACH(SYS_brk, SYS_mmap, SYS_munmap, SYS_mremap, SYS_mprotect, SYS_madvise, SYS_futex, SYS_write, SYS_exit,
             SYS_exit_group, SYS_clock_gettime, SYS_getrandom, SYS_rt_sigreturn, SYS_newfstatat,
             SYS_sched_getaffinity /* as a thread's first malloc does */);
}

static void list_threads(void) {
  list_malloc();
  ALLOW_EACH(SYS_clone3, SYS_clone, SYS_set_robust_list, SYS_rseq, SYS_rt_sigprocmask, SYS_rt_sigaction, SYS_openat,
             SYS_read, SYS_close);
}

static void list_sshd(void) {
  static const unsigned advice[] = {MADV_NORMAL,     MADV_FREE, MADV_DONTNEED, MADV_DONTFORK, MADV_DONTDUMP,
                                    MADV_WIPEONFORK, ~0u};
  ALLOW_EACH(SYS_brk, SYS_clock_gettime, SYS_close, SYS_exit, SYS_exit_group, SYS_futex, SYS_getpid, SYS_getrandom,
             SYS_gettid, SYS_gettimeofday, SYS_mremap, SYS_munmap, SYS_nanosleep, SYS_clock_nanosleep, SYS_poll,
             SYS_read, SYS_rt_sigprocmask, SYS_time, SYS_write, SYS_writev, SYS_restart_syscall, SYS_shutdown);
  allow_values(SYS_madvise, 2, advice, EINVAL);
  allow_mask(SYS_mmap, 2, PROT_READ | PROT_WRITE);
  allow_mask(SYS_mprotect, 2, PROT_READ | PROT_WRITE);
  refuse(SYS_openat, EACCES);
  refuse(SYS_newfstatat, EACCES);
}

static void list_renderer(void) {
  static const unsigned advice[] = {MADV_NORMAL, MADV_RANDOM, MADV_DONTNEED, MADV_FREE, MADV_REMOVE, ~0u};
  static const unsigned names[] = {PR_SET_NAME, PR_GET_NAME, PR_SET_DUMPABLE, PR_GET_DUMPABLE, ~0u};
  static const unsigned futexes[] = {FUTEX_WAIT_PRIVATE,
                                     FUTEX_WAKE_PRIVATE,
                                     FUTEX_REQUEUE_PRIVATE,
                                     FUTEX_CMP_REQUEUE_PRIVATE,
                                     FUTEX_WAKE_OP_PRIVATE,
                                     FUTEX_WAIT_BITSET_PRIVATE,
                                     FUTEX_WAIT,
                                     FUTEX_WAKE,
                                     FUTEX_WAIT_BITSET,
                                     FUTEX_WAIT_BITSET_PRIVATE | FUTEX_CLOCK_REALTIME,
                                     FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME,
                                     ~0u};
  ALLOW_EACH(SYS_brk, SYS_clock_gettime, SYS_close, SYS_exit, SYS_exit_group, SYS_getpid, SYS_gettid, SYS_gettimeofday,
             SYS_getrandom, SYS_mlock, SYS_munlock, SYS_munmap, SYS_mremap, SYS_nanosleep, SYS_read, SYS_rt_sigaction,
             SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_rseq, SYS_sched_yield, SYS_sched_getaffinity, SYS_sched_getparam,
             SYS_sched_getscheduler, SYS_sched_setscheduler, SYS_write, SYS_writev, SYS_fstat, SYS_restart_syscall);
  allow_values(SYS_madvise, 2, advice, EPERM);
  allow_values(SYS_prctl, 0, names, 0);
  allow_values(SYS_futex, 1, futexes, 0);
  allow_mask(
      SYS_mmap, 3,
      MAP_SHARED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE | MAP_FIXED | MAP_DENYWRITE | MAP_LOCKED);
  allow_mask(SYS_mprotect, 2, PROT_READ | PROT_WRITE | PROT_EXEC);
  allow_mask(SYS_clone, 0,
             CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS |
                 CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID);
  refuse(SYS_clone3, ENOSYS);
  refuse(SYS_set_robust_list, EPERM);
  refuse(SYS_openat, EPERM);
  refuse(SYS_newfstatat, EPERM);
}

static void list_service(void) {
  list_threads();
  ALLOW_EACH(SYS_getpid, SYS_gettid, SYS_lseek, SYS_fstat, SYS_fcntl, SYS_poll, SYS_nanosleep, SYS_clock_nanosleep,
             SYS_sysinfo, SYS_prlimit64, SYS_prctl, SYS_membarrier, SYS_sched_yield, SYS_sched_getscheduler,
             SYS_sched_getparam, SYS_tgkill, SYS_rt_sigreturn, SYS_getuid, SYS_geteuid, SYS_readlink, SYS_pread64,
             SYS_ioctl, SYS_writev, SYS_getppid, SYS_uname, SYS_restart_syscall);
}

/* Where the process has a signal handler answer a call that the kernel does not make. */
static void answer(int number, siginfo_t* what, void* context) {
  (void)number, (void)what;
  ((ucontext_t*)context)->uc_mcontext.gregs[REG_RAX] = -EPERM;
}

static void list_broker(void) {
  struct sigaction action = {.sa_sigaction = answer, .sa_flags = SA_SIGINFO};
  sigaction(SIGSYS, &action, NULL);
  put_load(offsetof(struct seccomp_data, nr));
  put(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 1);
  put_verdict(SECCOMP_RET_TRAP);
  list_threads();
}

static const struct {
  const char* name;
  void (*list)(void);
} kFilters[] = {{"malloc", list_malloc},     {"threads", list_threads}, {"sshd", list_sshd},
                {"renderer", list_renderer}, {"service", list_service}, {"broker", list_broker}};

static int lock_up(const char* name, unsigned flags) {
  for (size_t i = 0; i < sizeof kFilters / sizeof *kFilters; ++i)
    if (strcmp(kFilters[i].name, name) == 0) kFilters[i].list();
  if (length == 0) {
    fprintf(stderr, "sandboxed: no filter is called %s\n", name);
    _exit(2);
  }
  put_verdict(SECCOMP_RET_KILL_PROCESS);
  const struct sock_fprog filter = {length, steps};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &filter) == 0;
}

/* -- loads */

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
  for (size_t size = 1000; size < (64u << 20); size = size * 3 / 2) {
    block = realloc(block, size);
    if (block == NULL) _exit(3);
    memset(block, 1, size);
  }
  free(block);
}

static void allocate_much(void) {
  for (int i = 0; i < 200000; ++i) {
    char* block = malloc((size_t)(64 + i % 4000));
    block[0] = 1;
    if (i % 3 == 0) free(block);
  }
  for (size_t size = 100; size < 3000000; size *= 10) fill(size, 64u << 20);
  for (int round = 0; round < 3; ++round) grow();
  malloc_trim(0);
}

static pthread_barrier_t begun, locked_up, done;

static void* work(void* unused) {
  void* blocks[1000];
  for (int round = 0; round < 200; ++round) {
    for (size_t i = 0; i < 1000; ++i) blocks[i] = malloc(16 + i * 7);
    for (size_t i = 0; i < 1000; ++i) free(blocks[i]);
  }
  return unused;
}

static void* work_behind(void* unused) {
  pthread_barrier_wait(&begun);
  pthread_barrier_wait(&locked_up);
  work(unused);
  pthread_barrier_wait(&done);
  pthread_barrier_wait(&locked_up); /* for good, as pause() is on no list */
  return unused;
}

static void begin(void* (*body)(void*)) {
  for (int i = 0; i < kThreads; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, body, NULL) != 0) _exit(4);
  }
}

int main(int count, char** words) {
  if (count < 3) return 2;
  const char* threads = words[2];
  const int before = strcmp(threads, "before") == 0, beside = strcmp(threads, "beside") == 0;
  if (count > 3) fill(100, 16u << 20);
  pthread_barrier_init(&begun, NULL, kThreads + 1);
  pthread_barrier_init(&locked_up, NULL, kThreads + 1);
  pthread_barrier_init(&done, NULL, kThreads + 1);
  if (before || beside) {
    begin(work_behind);
    pthread_barrier_wait(&begun);
  }
  if (!lock_up(words[1], before ? SECCOMP_FILTER_FLAG_TSYNC : 0)) {
    perror("sandboxed: seccomp");
    return 77;
  }
  if (before || beside) pthread_barrier_wait(&locked_up);
  allocate_much();
  if (before || beside) pthread_barrier_wait(&done);
  if (strcmp(threads, "after") == 0) {
    pthread_t some[kThreads];
    for (int i = 0; i < kThreads; ++i)
      if (pthread_create(&some[i], NULL, work, NULL) != 0) _exit(4);
    for (int i = 0; i < kThreads; ++i) pthread_join(some[i], NULL);
    allocate_much();
  }
  static const char all_well[] = "the filter let all pass\n";
  if (write(STDOUT_FILENO, all_well, sizeof all_well - 1) < 0) _exit(5);
  _exit(0);
}
