#include "options.h"

#include <arpa/inet.h>

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "number.h"

namespace cache_server {
namespace {

constexpr const char* kHelp = R"(cache_server: a cache in memory that redis-cli and redis-benchmark talk to

  cache_server [--port N] [--bind ADDRESS] [--compaction on|off] [--value-limit BYTES] [--clients N]
               [--buffer-limit BYTES]

Keys and values lie in snug's compacting heap, which moves them together as others go: after many were deleted the
server takes what the rest needs. What it holds is in memory alone, and gone when it ends.

  --port N              where it listens (default 6379); 0: any that is free, which the first line of output names
  --bind ADDRESS        on which address of IPv4 (default 127.0.0.1); there is no password, so leave it there
  --compaction on|off   on: of each size one page at most has a free place (the default); off: nothing ever moves
  --value-limit BYTES   of one key or value (default 64M); K, M and G stand for 2^10, 2^20 and 2^30
  --clients N           at the same time (default 1000); fewer if there may not be so many open files
  --buffer-limit BYTES  of requests and replies of all clients together (default 1G), of which one that waits has 16K
                        or some more; beyond, the connection that takes most is closed

Commands: PING ECHO GET SET (EX, PX) DEL UNLINK EXISTS PTTL SCAN (MATCH, COUNT) KEYS DBSIZE FLUSHALL INFO MEMORY (USAGE,
PURGE) CONFIG GET COMMAND QUIT. SIGTERM and SIGINT end it.

Try:
  cache_server --port 7000 &
  redis-benchmark -p 7000 -t set,get -r 100000 -n 1000000 -P 16 -d 500
  redis-cli -p 7000 info memory
  examples/cache_server/draw                      # its memory over time, beside Redis, as a picture
)";

[[noreturn]] void refuse(std::string_view what, std::string_view why) {
  std::fprintf(stderr, "cache_server: %.*s: %.*s\n", static_cast<int>(what.size()), what.data(),
               static_cast<int>(why.size()), why.data());
  std::exit(2);
}

std::size_t read_count(std::string_view option, std::string_view text, std::size_t fewest, std::size_t most) {
  std::size_t scale = 1;
  std::string_view digits = text;
  for (const auto& [letter, bytes] : {std::pair('K', 10), std::pair('M', 20), std::pair('G', 30)})
    if (text.ends_with(letter)) {
      scale = std::size_t{1} << bytes;
      digits.remove_suffix(1);
    }
  long long number = 0;
  if (!read_number(digits, &number) || number < 0 || static_cast<unsigned long long>(number) > most / scale ||
      static_cast<std::size_t>(number) * scale < fewest)
    refuse(option, "wants a number from " + std::to_string(fewest) + " to " + std::to_string(most) + ", not '" +
                       std::string(text) + "'");
  return static_cast<std::size_t>(number) * scale;
}

void read_option(std::string_view name, std::string_view value, Options* options) {
  if (name == "--port") {
    options->port = static_cast<int>(read_count(name, value, 0, 65535));
  } else if (name == "--bind") {
    in_addr address;
    options->address = value;
    if (inet_pton(AF_INET, options->address.c_str(), &address) != 1)
      refuse(name, "wants an address of IPv4, not '" + options->address + "'");
  } else if (name == "--compaction") {
    if (value != "on" && value != "off") refuse(name, "wants on or off, not '" + std::string(value) + "'");
    options->compacts = value == "on";
  } else if (name == "--value-limit") {
    options->value_bytes = read_count(name, value, 1, std::size_t{512} << 20);
  } else if (name == "--clients") {
    options->clients = read_count(name, value, 1, 100'000);
  } else if (name == "--buffer-limit") {
    options->buffer_bytes = read_count(name, value, std::size_t{1} << 20, std::size_t{1} << 40);
  } else {
    refuse(name, "is no option; --help lists them");
  }
}

}  // namespace

Options read_options(int count, char** words) {
  Options options;
  for (int i = 1; i < count; ++i) {
    std::string_view name = words[i];
    if (name == "--help" || name == "-h") {
      std::fputs(kHelp, stdout);
      std::exit(0);
    }
    // --port 7000, or --port=7000.
    if (const std::size_t equals = name.find('='); equals != name.npos) {
      read_option(name.substr(0, equals), name.substr(equals + 1), &options);
    } else if (!name.starts_with("--")) {
      refuse(name, "is no option; --help lists them");
    } else {
      read_option(name, i + 1 < count ? words[i + 1] : "", &options);
      ++i;
    }
  }
  return options;
}

}  // namespace cache_server
