/* listed_calls.c: preloaded, it has the kernel stop every system call that snug's own code makes and that the list does
 * not name (SNUG_TEST_CALLS="mmap munmap …"). What the program and libc call is theirs: the filter knows snug's calls
 * by where they come from, which is libsnug.so's text, or the program's if that has snug in it.
 *
 * For all threads, children and what these execute. A call that is stopped is named on standard error, and ends the
 * process by SIGSYS.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CALL(name) {#name, SYS_##name}
static const struct {
  const char* name;
  unsigned number;
} kKnown[] = {CALL(mmap),
              CALL(munmap),
              CALL(mprotect),
              CALL(madvise),
              CALL(mremap),
              CALL(futex),
              CALL(openat),
              CALL(read),
              CALL(lseek),
              CALL(write),
              CALL(renameat),
              CALL(unlinkat),
              CALL(memfd_create),
              CALL(ftruncate),
              CALL(close),
              CALL(fcntl),
              CALL(getpid),
              CALL(gettid),
              CALL(prctl),
              CALL(prlimit64),
              CALL(clock_gettime),
              CALL(sysinfo),
              CALL(mlock),
              CALL(mincore),
              CALL(mbind),
              CALL(get_mempolicy),
              CALL(newfstatat),
              CALL(getrandom),
              CALL(faccessat2),
              CALL(rt_sigprocmask),
              CALL(rt_sigpending),
              CALL(rt_sigtimedwait),
              CALL(sched_getaffinity),
              CALL(faccessat),
              CALL(sched_setscheduler),
              CALL(sched_getscheduler),
              CALL(sched_setaffinity)};
#undef CALL

enum { kKnownCount = sizeof kKnown / sizeof *kKnown };

struct text {
  uintptr_t start, end;
};

/* The first object is the program. */
static int find_text(struct dl_phdr_info* object, size_t size, void* found) {
  (void)size;
  struct text* text = found;
  const int is_program = text->end == 0;
  if (!is_program && strstr(object->dlpi_name, "/libsnug.so") == NULL) return 0;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)* part = &object->dlpi_phdr[i];
    if (part->p_type != PT_LOAD || (part->p_flags & PF_X) == 0) continue;
    text->start = object->dlpi_addr + part->p_vaddr;
    text->end = text->start + part->p_memsz;
  }
  return !is_program;
}

static void name_stopped(int signal_number, siginfo_t* what, void* context) {
  (void)context;
  char line[100];
  const int length =
      snprintf(line, sizeof line, "listed_calls: snug made system call %d, which is not listed\n", what->si_syscall);
  if (write(STDERR_FILENO, line, (size_t)length) < 0) _exit(99);
  signal(signal_number, SIG_DFL);
  raise(signal_number);
}

static struct sock_filter load(size_t offset) {
  return (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)offset);
}

static struct sock_filter jump(int condition, uint64_t value, size_t if_true, size_t if_false) {
  return (struct sock_filter)BPF_JUMP((unsigned short)(BPF_JMP | BPF_K | condition), (unsigned)value,
                                      (unsigned char)if_true, (unsigned char)if_false);
}

static struct sock_filter answer(unsigned action) { return (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action); }

/* The kernel's address is of the instruction after the call, and BPF compares halves: the higher one is the same
 * throughout a text, but for one place in thousands. */
static int install(struct text text, const unsigned* allowed, size_t count) {
  struct sock_filter program[kKnownCount + 8];
  size_t length = 0;
  const size_t low = offsetof(struct seccomp_data, instruction_pointer);
  if (text.start >> 32 != text.end >> 32) return 0;
  program[length++] = load(low + 4);
  program[length++] = jump(BPF_JEQ, text.start >> 32, 0, count + 5);
  program[length++] = load(low);
  program[length++] = jump(BPF_JGT, (uint32_t)text.start, 0, count + 3);
  program[length++] = jump(BPF_JGT, (uint32_t)text.end, count + 2, 0);
  program[length++] = load(offsetof(struct seccomp_data, nr));
  for (size_t i = 0; i < count; ++i) program[length++] = jump(BPF_JEQ, allowed[i], count - i, 0);
  program[length++] = answer(SECCOMP_RET_TRAP);
  program[length++] = answer(SECCOMP_RET_ALLOW);
  const struct sock_fprog filter = {(unsigned short)length, program};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

/* What listed.py makes of the status: 77 is a test that cannot be run here, 76 one that fails. */
static void fail(int status, const char* reason) {
  fprintf(stderr, "listed_calls: %s\n", reason);
  _exit(status);
}

__attribute__((constructor)) static void stop_what_is_not_listed(void) {
  unsigned allowed[kKnownCount];
  size_t count = 0;
  const char* list = getenv("SNUG_TEST_CALLS");
  while (list != NULL && *list != 0) {
    const size_t length = strcspn(list, " ");
    size_t i = 0;
    while (i < kKnownCount && (strncmp(kKnown[i].name, list, length) != 0 || kKnown[i].name[length] != 0)) ++i;
    if (i == kKnownCount || count == kKnownCount) fail(76, "the list names a call that this test does not know");
    allowed[count++] = kKnown[i].number;
    list += length + (list[length] != 0);
  }
  struct text text = {0, 0};
  dl_iterate_phdr(find_text, &text);
  const struct sigaction action = {.sa_sigaction = name_stopped, .sa_flags = SA_SIGINFO};
  if (sigaction(SIGSYS, &action, NULL) != 0 || !install(text, allowed, count)) fail(77, "there can be no filter here");
}
