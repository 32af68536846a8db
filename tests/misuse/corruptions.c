/* corruptions.c: random corruptions of a checked heap, each in a process of its own. Each must be told, by abort(), or
 * be harmless: every block that nobody wrote to is as its owner left it.
 *
 * corruptions COUNT [SEED] */
#define _GNU_SOURCE
#include "misuse.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum { kBlocks = 24, kHarm = 3 };

static uint64_t state;
static uint64_t draw(uint64_t below) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (state * 0x2545f4914f6cdd1dull >> 32) % below;
}

static char* blocks[kBlocks];
static size_t sizes[kBlocks];

static int is_whole(int number) {
  for (size_t i = 0; i != sizes[number]; ++i)
    if (blocks[number][i] != (char)number) return 0;
  return 1;
}

static void run(void) {
  for (int i = 0; i != kBlocks; ++i) {
    sizes[i] = draw(4) != 0 ? draw(200) : draw(4) != 0 ? draw(5000) : draw(400000);
    blocks[i] = malloc(sizes[i]);
    memset(blocks[i], i, sizes[i]);
  }
  const int victim = (int)draw(kBlocks);
  char* block = hidden(blocks[victim]);
  const size_t size = sizes[victim];
  const int fill = (int)draw(4) != 0 ? (int)draw(256) : 0;
  int freed = 0;
  switch (draw(7)) {
    case 0: /* beyond the end */
      memset(block + size, fill, 1 + draw(16));
      break;
    case 1: /* into a block that is free */
      free(block);
      freed = 1;
      if (size != 0) {
        const size_t from = draw(size);
        memset(block + from, fill, 1 + draw(size - from));
      }
      break;
    case 2: /* twice */
      free(block);
      for (uint64_t others = draw(100); others != 0; --others) free(hidden(malloc(draw(300))));
      free(hidden(block));
      break;
    case 3: /* inside */
      if (size > 1) free(block + 1 + draw(size - 1));
      freed = size > 1;
      break;
    case 4: /* beyond the end by a resize's bounds */
      if (size > 1) {
        const size_t less = 1 + draw(size - 1);
        block = blocks[victim] = realloc(block, less);
        sizes[victim] = less;
        memset(hidden(block) + less, fill, 1 + draw(8));
      }
      break;
    case 5: /* twice, by realloc */
      free(block);
      block = realloc(hidden(block), draw(500) + 1);
      freed = 1;
      break;
    default: /* one bit behind the end */
      block[size + draw(8)] ^= (char)(1 << draw(8));
      break;
  }
  /* A write beyond the victim's end is told when the victim is freed, at the latest. */
  if (!freed) free(hidden(blocks[victim]));
  for (int i = 0; i != kBlocks; ++i) {
    if (i == victim) continue;
    if (!is_whole(i)) _exit(kHarm);
    free(blocks[i]);
  }
  exit(0);
}

int main(int argc, char** argv) {
  const long count = argc > 1 ? atol(argv[1]) : 1000;
  const uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
  const struct rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  long told = 0, harmless = 0, wrong = 0;
  for (long i = 0; i != count; ++i) {
    fflush(stdout);
    const pid_t pid = fork();
    if (pid == 0) {
      state = (seed * 1000003 + (uint64_t)i) * 0x9e3779b97f4a7c15ull | 1;
      for (int warm = 0; warm != 8; ++warm) draw(2);
      dup2(open("/dev/null", O_WRONLY), 2);
      run();
    }
    int status = 0;
    if (pid < 0 || waitpid(pid, &status, 0) != pid) return 2;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT)
      ++told;
    else if (status == 0)
      ++harmless;
    else if (++wrong <= 10)
      printf("corruption %ld of seed %llu: status %x\n", i, (unsigned long long)seed, (unsigned)status);
  }
  printf("told %ld, harmless %ld, harm or crash %ld\n", told, harmless, wrong);
  return wrong != 0 || told < count / 2;
}
