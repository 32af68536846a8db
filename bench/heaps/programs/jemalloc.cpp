// The loads on jemalloc's arenas, without caches of threads: what lies in a cache must be gone before its arena is.
#include "loads.h"

extern "C" {
void* mallocx(size_t size, int flags);
void dallocx(void* block, int flags);
int mallctl(const char* name, void* old, size_t* old_size, void* fresh, size_t fresh_size);
int mallctlnametomib(const char* name, size_t* mib, size_t* length);
int mallctlbymib(const size_t* mib, size_t length, void* old, size_t* old_size, void* fresh, size_t fresh_size);
}

namespace {

constexpr int kNoCache = 1 << 8;                                                        // MALLOCX_TCACHE_NONE
constexpr int in_arena(unsigned arena) { return static_cast<int>((arena + 1) << 20); }  // MALLOCX_ARENA

// A name of mallctl, looked up once.
template <size_t kLength>
struct Control {
  explicit Control(const char* name) {
    size_t length = kLength;
    if (mallctlnametomib(name, words, &length) != 0) workload::fail("mallctlnametomib");
  }
  size_t words[kLength];
};

class Arena {
 public:
  static constexpr heaps::Ending kEnds = heaps::Ending::kAtOnce;
  static constexpr heaps::Sharing kSharing = heaps::Sharing::kFree;
  static constexpr size_t kMostHeaps = 4000;  // of 4094 arenas some serve malloc

  Arena() {
    static const Control<2> create("arenas.create");
    unsigned arena = 0;
    size_t size = sizeof arena;
    if (mallctlbymib(create.words, 2, &arena, &size, nullptr, 0) != 0) workload::fail("arenas.create");
    arena_ = arena;
    flags_ = in_arena(arena) | kNoCache;
  }
  ~Arena() {
    static const Control<3> destroy("arena.0.destroy");
    const size_t words[] = {destroy.words[0], arena_, destroy.words[2]};
    if (mallctlbymib(words, 3, nullptr, nullptr, nullptr, 0) != 0) workload::fail("arena.destroy");
  }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  void* allocate(size_t size) { return mallocx(size, flags_); }
  void free(void* block, size_t) { dallocx(block, kNoCache); }

 private:
  unsigned arena_;
  int flags_;
};

}  // namespace

namespace workload {
const Program kProgram = heaps::program_of("heaps_jemalloc");
void measure_all(const Options& options, Report& report) { heaps::measure<Arena>(options, report); }
}  // namespace workload
