// The commands: what a request does to the store, and what is answered. In words and errors as Redis, as far as it
// goes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "store.h"

namespace cache_server {

// What INFO tells of the server around the store.
struct ServerFacts {
  int port = 0;
  bool compacts = true;
  std::size_t clients = 0;
  std::size_t buffers = 0;  // bytes, of their requests and replies
  std::uint64_t commands = 0;
  Moment started_at = 0;
};

enum class Then { kGoOn, kClose };

// Adds the reply to `reply`. There is at least one word.
Then execute(std::span<const std::string_view> words, Store& store, const ServerFacts& facts, Moment now,
             std::string& reply);

}  // namespace cache_server
