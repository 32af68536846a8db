// plugin_host.cpp: loads plugins with classes that have pools with thread caches, lets threads that live on use them,
// and unloads them. Nothing that those threads do afterwards may reach into the plugins, least of all their ends.
//
//   plugin_host gone|kept PLUGIN...
//
// gone: the plugins share the host's tables, so that nothing holds them, and each must be unmapped when it is closed.
// kept: they have tables of their own, so that the C library keeps them until all threads that used them have ended.
#include <snug/pool.h>
#include <snug/pool_thread_cache.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include <dlfcn.h>

#include "pool/work_bench.h"

namespace {

using HostPool = snug::Pool<void, snug::ThreadCached>;

[[noreturn]] void fail(const char* what, const char* of) {
  std::fprintf(stderr, "plugin_host: %s: %s\n", what, of);
  std::exit(1);
}

void use_host(HostPool& pool) {
  std::vector<void*> elements(500);
  if (pool.allocate_batch(elements) != elements.size()) fail("no elements", "of the host's pool");
  for (void* element : elements) std::memset(element, 1, 48);
  pool.deallocate_batch(elements);
}

void use_plugin(const char* path, bool must_go, HostPool& pool, snug::WorkBench& old_thread) {
  void* const plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (plugin == nullptr) fail("cannot be loaded", dlerror());
  auto* const use = reinterpret_cast<bool (*)(long)>(dlsym(plugin, "use_messages"));
  if (use == nullptr) fail("lacks its function", path);
  const auto work = [&] {
    use_host(pool);
    if (!use(300)) fail("elements overlap", path);
  };
  snug::WorkBench new_thread;
  old_thread.run(work);
  new_thread.run(work);
  dlclose(plugin);
  void* const still = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
  if (must_go && still != nullptr) fail("is still mapped", path);
  if (still != nullptr) dlclose(still);
  // Other pools take the place that the plugin's had, or the next.
  old_thread.run([&] {
    HostPool other(48);
    use_host(other);
    use_host(pool);
  });
  new_thread.run([&] { use_host(pool); });
}  // the new thread ends here

int run(bool must_go, char** paths) {
  HostPool pool(48);
  {
    snug::WorkBench old_thread;
    old_thread.run([&] { use_host(pool); });
    for (int round = 0; round < 5; ++round) {
      for (char** path = paths; *path != nullptr; ++path) use_plugin(*path, must_go, pool, old_thread);
    }
  }
  if (const char* const broken = pool.check()) fail("the host's pool", broken);
  if (pool.stats().live != 0) fail("the host's pool", "has lost elements");
  std::puts("every thread has ended");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  return run(std::strcmp(argv[1], "gone") == 0, argv + 2);
}
