// A cache in memory on snug's compacting heap, for redis-cli and redis-benchmark. cache_server --help has the rest;
// docs/compact-heap.md shows what it is an example of.
#include <cstdio>
#include <exception>

#include "options.h"
#include "server.h"

int main(int count, char** words) {
  const cache_server::Options options = cache_server::read_options(count, words);
  try {
    cache_server::Server server(options);
    std::printf("ready on %s:%d, compaction %s\n", options.address.c_str(), server.port(),
                options.compacts ? "on" : "off");
    std::fflush(stdout);
    server.run();
    std::printf("ended: %s\n", server.summary().c_str());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "cache_server: %s\n", error.what());
    return 1;
  }
}
