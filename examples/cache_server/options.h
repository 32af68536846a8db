// The command line of the server.
#pragma once

#include <cstddef>
#include <string>

namespace cache_server {

struct Options {
  std::string address = "127.0.0.1";
  int port = 6379;  // 0: one that is free
  bool compacts = true;
  std::size_t value_bytes = std::size_t{64} << 20;  // at most, of one key or value
  std::size_t clients = 1000;                       // at most, at a time
  std::size_t buffer_bytes = std::size_t{1} << 30;  // at most, of all clients' requests and replies
};

// Ends the process with the help, or with one line if something is wrong (status 2).
Options read_options(int count, char** words);

}  // namespace cache_server
