// bounds.cc: what a program's blocks may cost in mappings, private memory and memory, whatever the machine. On any
// malloc. Usage: bounds LOAD, one of kLoads. Prints the figure and its bound. Exit status 0 if the bound holds, 1 if
// not; 77 if there is too little memory to tell.
#include "proc_file.h"

#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace {

constexpr std::size_t kKiB = 1 << 10;
constexpr std::size_t kMiB = 1 << 20;

void* checked(void* block) {
  if (block != nullptr) return block;
  std::puts("a block was refused");
  std::exit(1);
}

// In KiB.
std::size_t status(const char* key) { return static_cast<std::size_t>(number_in("/proc/self/status", key)); }
std::size_t resident() { return status("RssAnon:") * kKiB; }

std::size_t mappings() {
  static char part[64 * kKiB];
  std::size_t lines = 0;
  const int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  for (ssize_t length; (length = read(file, part, sizeof part)) > 0;)
    for (ssize_t i = 0; i < length; ++i) lines += part[i] == '\n';
  close(file);
  return lines;
}

// Memory that no malloc has to do with.
template <class T>
T* array(std::size_t count) {
  void* const start =
      mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (start == MAP_FAILED) std::exit(77);
  return static_cast<T*>(start);
}

std::uint64_t random_below(std::uint64_t bound) {
  static std::uint64_t state = 42;
  state = state * 6364136223846793005 + 1442695040888963407;
  return (state >> 33) * bound >> 31;
}

int within(const char* what, std::size_t figure, std::size_t bound) {
  std::printf("%s: %zu, of %zu at most\n", what, figure, bound);
  return figure <= bound ? 0 : 1;
}

// As many as there are, they leave others their place: a process has 65,530 mappings. These find their own in half of
// the addresses that snug takes on the smallest machine.
int many_large() {
  constexpr std::size_t kBlocks = 80'000;
  void** const blocks = array<void*>(kBlocks);
  const std::size_t before = mappings();
  for (std::size_t i = 0; i < kBlocks; ++i) *static_cast<char*>(blocks[i] = checked(std::malloc(300'000))) = 1;
  for (std::size_t i = 0; i < kBlocks; i += 2) std::free(blocks[i]);
  const std::size_t more = mappings() - before;
  for (std::size_t size = 16; size < 200 * kKiB; size += 16) checked(std::malloc(size));
  return within("mappings of 40,000 blocks of 300 KB, each second of 80,000", more, 200);
}

// What strict overcommit charges.
int one_growing() {
  const std::size_t before = status("VmData:");
  void* buffer = nullptr;
  for (std::size_t size = kMiB; size <= 512 * kMiB; size += kMiB) buffer = checked(std::realloc(buffer, size));
  return within("KiB of private memory for a buffer that has grown to 512 MiB", status("VmData:") - before, 576'716);
}

int untouched_zeros() {
  const std::size_t before = resident();
  for (int i = 0; i < 2000; ++i) static_cast<char*>(checked(std::calloc(200'000, 1)))[100'000] = 1;
  return within("KiB in memory for 2000 blocks of 200 KB of which a byte is used", (resident() - before) / kKiB,
                16'384);
}

// An array of zeros that is written and freed, over and over: its memory is there from the second time on.
int zeros_again() {
  const auto faults = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<std::size_t>(usage.ru_minflt);
  };
  constexpr std::size_t kSize = 2'500'000;
  const auto once = [] {
    auto* const zeros = static_cast<char*>(checked(std::calloc(kSize, 1)));
    for (std::size_t i = 0; i < kSize; ++i)
      if (zeros[i] != 0) std::abort();
    std::memset(zeros, 1, kSize);
    std::free(zeros);
  };
  for (int i = 0; i < 5; ++i) once();
  const std::size_t before = faults();
  for (int i = 0; i < 50; ++i) once();
  return within("page faults of 50 further arrays of zeros of 2.5 MB", faults() - before, 1000);
}

std::size_t fill(void** blocks, std::size_t count, std::size_t least, std::size_t span) {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t size = least + random_below(span);
    std::memset(blocks[i] = checked(std::malloc(size)), 1, size);
    bytes += size;
  }
  return bytes;
}

void* allocate_and_sleep(void*) {
  std::free(checked(std::malloc(100)));
  for (;;) pause();
}

// Two million blocks of 16 to 512 bytes, of which nine in ten go at random: of 4 KiB each page but one in six has a
// block left. That is 413 to 415 MB where some chunks have huge pages, and up to 423 where all or none have, as what
// they cost on the machine at the time decides.
int mostly_freed(bool trims) {
  constexpr std::size_t kBlocks = 2'000'000;
  void** const blocks = array<void*>(kBlocks);
  const std::size_t before = resident();
  pthread_t other;
  if (!trims && pthread_create(&other, nullptr, allocate_and_sleep, nullptr) != 0) return 77;
  fill(blocks, kBlocks, 16, 497);
  std::printf("%zu MiB filled\n", (resident() - before) / kMiB);
  for (std::size_t i = kBlocks; i-- > 1;) std::swap(blocks[i], blocks[random_below(i + 1)]);
  for (std::size_t i = kBlocks / 10; i < kBlocks; ++i) std::free(blocks[i]);
  if (trims) malloc_trim(0);
  // The background thread gives back what has lain for a second; a busy machine lets it wait, for minutes.
  for (int looks = 0; !trims && looks < 30'000 && resident() - before > 430'000'000; ++looks) usleep(20'000);
  const std::size_t left = resident() - before;
  const int wrong = within(trims ? "KB in memory for a tenth of 2 million blocks, trimmed"
                                 : "KB in memory for a tenth of 2 million blocks, some time later",
                           left / 1000, 430'000);
  if (!trims) return wrong;
  // What was left empty in between serves others: of the class of 640 bytes no more than they are. That is 257 MB, by
  // chance, and where all pages are huge, up to 265.
  constexpr std::size_t kMore = 400'000;
  void** const others = array<void*>(kMore);
  const std::size_t own = resident();
  fill(others, kMore, 600, 1);
  return wrong | within("KB for 400,000 blocks of 600 bytes besides", (resident() - own) / 1000, 270'000);
}

int trimmed() { return mostly_freed(true); }
int by_itself() { return mostly_freed(false); }

// 150 MiB live in blocks of a phase's sizes, of which the older two thirds are replaced by blocks of the next phase's,
// and a buffer that comes and goes.
void live_in_phases() {
  constexpr std::size_t kMost = 400'000;
  struct Block {
    char* start;
    std::size_t size;
  };
  Block* const blocks = array<Block>(kMost);
  std::size_t oldest = 0, newest = 0, live = 0;
  for (int phase = 0; phase < 12; ++phase) {
    for (std::size_t gone = 0; gone < 100 * kMiB && oldest != newest;) {
      const Block& block = blocks[oldest++ % kMost];
      std::free(block.start);
      gone += block.size;
      live -= block.size;
    }
    const std::size_t mean = std::size_t{400} << phase % 6;
    while (live < 150 * kMiB) {
      Block& block = blocks[newest++ % kMost];
      block.size = mean / 2 + random_below(mean);
      std::memset(block.start = static_cast<char*>(checked(std::malloc(block.size))), 1, block.size);
      live += block.size;
    }
    for (int i = 0; i < 3; ++i) {
      void* const buffer = checked(std::malloc((4 + 2 * static_cast<std::size_t>(phase % 3)) * kMiB));
      std::memset(buffer, 1, (4 + 2 * static_cast<std::size_t>(phase % 3)) * kMiB);
      std::free(buffer);
    }
  }
}

bool write_to(const char* folder, const char* name, const char* text) {
  char path[512];
  std::snprintf(path, sizeof path, "%s/%s", folder, name);
  const int file = open(path, O_WRONLY | O_CLOEXEC);
  const bool written = file >= 0 && write(file, text, std::strlen(text)) == static_cast<ssize_t>(std::strlen(text));
  if (file >= 0) close(file);
  return written;
}

// In a container of 190 MiB, of either version of control groups. The program is executed anew there.
int contained() {
  char number[32], folder[256];
  std::snprintf(number, sizeof number, "%d", getpid());
  bool is_made = false;
  for (const char* root : {"/sys/fs/cgroup/memory", "/sys/fs/cgroup"}) {
    std::snprintf(folder, sizeof folder, "%s/snug_bounds_%s", root, number);
    if (mkdir(folder, 0755) != 0) continue;
    is_made = (write_to(folder, "memory.limit_in_bytes", "199229440") || write_to(folder, "memory.max", "199229440")) &&
              (write_to(folder, "memory.memsw.limit_in_bytes", "199229440") ||
               write_to(folder, "memory.swap.max", "0") || number_in("/proc/meminfo", "SwapTotal:") == 0);
    if (is_made) break;
    rmdir(folder);
  }
  if (!is_made) {
    std::puts("no control group may be made here");
    return 77;
  }
  const pid_t child = fork();
  if (child == 0) {
    std::snprintf(number, sizeof number, "%d", getpid());
    if (!write_to(folder, "cgroup.procs", number)) _exit(77);
    execl("/proc/self/exe", "bounds", "live_in_phases", static_cast<char*>(nullptr));
    _exit(77);
  }
  int status = 0;
  waitpid(child, &status, 0);
  rmdir(folder);
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  std::printf("killed by signal %d, with 150 MiB live in 190\n", WTERMSIG(status));
  return 1;
}

int live() { return live_in_phases(), within("MiB in memory at the most", status("VmHWM:") / kKiB, 200); }

struct Load {
  const char* name;
  int (*run)();
};
constexpr Load kLoads[] = {
    {"many_large", many_large},   {"one_growing", one_growing}, {"untouched_zeros", untouched_zeros},
    {"zeros_again", zeros_again}, {"mostly_freed", trimmed},    {"mostly_freed_by_itself", by_itself},
    {"contained", contained},     {"live_in_phases", live}};

}  // namespace

int main(int count, char** words) {
  if (number_in("/proc/meminfo", "MemAvailable:") < 2 << 20) {  // KiB
    std::puts("less than 2 GiB of memory can be had");
    return 77;
  }
  for (const Load& load : kLoads)
    if (count == 2 && std::strcmp(words[1], load.name) == 0) return load.run();
  std::fprintf(stderr, "usage: bounds");
  for (const Load& load : kLoads) std::fprintf(stderr, "%s%s", &load == kLoads ? " " : "|", load.name);
  std::fputc('\n', stderr);
  return 2;
}
