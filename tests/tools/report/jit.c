// Calls a function of its own through code that it has made, as CPython's perf trampoline does, and tells the code's
// name to perf: the map of argument 1 stands at /tmp/perf-PID.map. Ends with 77 on a processor of which no such code is
// known here.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { kBlocks = 1000, kBytes = 3000 };
static void* blocks[kBlocks];

static void hold_blocks(void) {
  for (int i = 0; i != kBlocks; ++i) blocks[i] = malloc(kBytes);
}

int main(int count, char** arguments) {
#ifdef __x86_64__
  // sub $8, %rsp; call *%rdi; add $8, %rsp; ret
  static const unsigned char kCode[] = {0x48, 0x83, 0xec, 8, 0xff, 0xd7, 0x48, 0x83, 0xc4, 8, 0xc3};
  if (count < 2) return 2;
  unsigned char* const code = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (code == MAP_FAILED) return 1;
  memcpy(code, kCode, sizeof kCode);
  if (mprotect(code, 4096, PROT_READ | PROT_EXEC) != 0) return 1;
  char path[64];
  snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
  FILE* const map = fopen(path, "w");
  if (map == NULL) return 1;
  const uintptr_t start = (uintptr_t)code;
  if (strcmp(arguments[1], "python") == 0)
    fprintf(
        map,
        "nonsense\n%lx b first_here\n%lx b py::Job.run:/somewhere/job.py\n%lx fff later\nffffffffffffffff ff beyond\n",
        start, start, start + sizeof kCode);
  else
    fprintf(map, "0x%lx 0x1000 LazyCompile:~run job.js:1:2\n", start);
  fclose(map);
  printf("%s\n", path);
  ((void (*)(void (*)(void)))start)(hold_blocks);
  return 0;
#else
  (void)count, (void)arguments, (void)blocks, (void)hold_blocks;
  return 77;
#endif
}
