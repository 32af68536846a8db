#include "commands.h"

#include <algorithm>
#include <cctype>
#include <climits>
#include <cstdint>
#include <new>

#include "glob.h"
#include "information.h"
#include "number.h"
#include "reply.h"
#include "snug/snug.h"

namespace cache_server {
namespace {

using Words = std::span<const std::string_view>;

struct Call {
  Words words;
  Store& store;
  const ServerFacts& facts;
  Moment now;
  std::string& reply;
};

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

bool is_word(std::string_view text, std::string_view lower_word) {
  return text.size() == lower_word.size() && lower(text) == lower_word;
}

constexpr const char* kSyntax = "ERR syntax error";
constexpr const char* kNoNumber = "ERR value is not an integer or out of range";

void ping(Call& call) {
  if (call.words.size() == 2) return add_bulk(call.reply, call.words[1]);
  add_status(call.reply, "PONG");
}

void echo(Call& call) { add_bulk(call.reply, call.words[1]); }

void get(Call& call) {
  const Value* const value = call.store.get(call.words[1], call.now);
  if (value == nullptr) return add_null(call.reply);
  add_bulk(call.reply, value->text.view());
}

// When a value that is set with EX or PX is gone. False, and an error is the reply, if it is no time.
bool read_moment(Call& call, std::string_view unit, std::string_view text, Moment* gone_at) {
  long long number = 0;
  const long long scale = is_word(unit, "ex") ? 1000 : 1;
  if (!read_number(text, &number)) {
    add_error(call.reply, kNoNumber);
    return false;
  }
  if (number <= 0 || number > (LLONG_MAX - call.now) / scale) {
    add_error(call.reply, "ERR invalid expire time in 'set' command");
    return false;
  }
  *gone_at = call.now + number * scale;
  return true;
}

void set(Call& call) {
  Moment gone_at = kNever;
  for (std::size_t i = 3; i < call.words.size(); i += 2) {
    const bool is_moment = is_word(call.words[i], "ex") || is_word(call.words[i], "px");
    if (!is_moment || gone_at != kNever || i + 1 == call.words.size()) return add_error(call.reply, kSyntax);
    if (!read_moment(call, call.words[i], call.words[i + 1], &gone_at)) return;
  }
  call.store.set(call.words[1], call.words[2], gone_at);
  add_status(call.reply, "OK");
}

void del(Call& call) {
  long long count = 0;
  for (const std::string_view key : call.words.subspan(1)) count += call.store.erase(key, call.now);
  add_number(call.reply, count);
}

void exists(Call& call) {
  long long count = 0;
  for (const std::string_view key : call.words.subspan(1)) count += call.store.get(key, call.now) != nullptr;
  add_number(call.reply, count);
}

// Milliseconds that are left; -1: it stays; -2: it is not there.
void pttl(Call& call) {
  const Value* const value = call.store.get(call.words[1], call.now);
  if (value == nullptr) return add_number(call.reply, -2);
  add_number(call.reply, value->gone_at == kNever ? -1 : value->gone_at - call.now);
}

// Keys that match, in so many buckets from the cursor on; returns the one to go on with.
std::uint64_t add_keys(Call& call, std::uint64_t cursor, std::size_t buckets, std::string_view pattern,
                       std::string* keys, std::size_t* count) {
  return call.store.scan(cursor, buckets, call.now, [&](std::string_view key) {
    if (!matches(pattern, key)) return;
    add_bulk(*keys, key);
    ++*count;
  });
}

void keys(Call& call) {
  std::string found;
  std::size_t count = 0;
  add_keys(call, 0, SIZE_MAX, call.words[1], &found, &count);
  add_array(call.reply, count);
  call.reply += found;
}

void scan(Call& call) {
  std::uint64_t cursor = 0;
  if (!read_number(call.words[1], &cursor)) return add_error(call.reply, "ERR invalid cursor");
  std::string_view pattern = "*";
  std::size_t buckets = 10;
  for (std::size_t i = 2; i < call.words.size(); i += 2) {
    if (i + 1 == call.words.size()) return add_error(call.reply, kSyntax);
    if (is_word(call.words[i], "match")) {
      pattern = call.words[i + 1];
    } else if (!is_word(call.words[i], "count")) {
      return add_error(call.reply, kSyntax);
    } else if (!read_number(call.words[i + 1], &buckets)) {
      return add_error(call.reply, kNoNumber);
    } else if (buckets == 0) {
      return add_error(call.reply, kSyntax);
    }
  }
  std::string found;
  std::size_t count = 0;
  cursor = add_keys(call, cursor, buckets, pattern, &found, &count);
  add_array(call.reply, 2);
  add_bulk(call.reply, std::to_string(cursor));
  add_array(call.reply, count);
  call.reply += found;
}

void dbsize(Call& call) { add_number(call.reply, static_cast<long long>(call.store.size())); }

void flushall(Call& call) {
  if (call.words.size() == 2 && !is_word(call.words[1], "sync") && !is_word(call.words[1], "async"))
    return add_error(call.reply, kSyntax);
  call.store.clear();
  add_status(call.reply, "OK");
}

void info(Call& call) {
  const std::string section = call.words.size() == 2 ? lower(call.words[1]) : "";
  add_bulk(call.reply, information(section, call.store, call.facts, call.now));
}

void memory(Call& call) {
  const Words& words = call.words;
  if (is_word(words[1], "usage") && words.size() == 3) {
    const Value* const value = call.store.get(words[2], call.now);
    if (value == nullptr) return add_null(call.reply);
    return add_number(call.reply, static_cast<long long>(bytes_of_value(words[2], *value)));
  }
  if (is_word(words[1], "purge") && words.size() == 2) {
    call.store.compact();
    snug_malloc_trim(0);
    return add_status(call.reply, "OK");
  }
  add_error(call.reply, "ERR unknown subcommand or wrong number of arguments for '" + std::string(words[1]) +
                            "'. Try MEMORY USAGE key or MEMORY PURGE.");
}

// What redis-benchmark asks before it begins, and no more: nothing is saved here.
void config(Call& call) {
  if (!is_word(call.words[1], "get")) return add_error(call.reply, "ERR only CONFIG GET is known here");
  static constexpr struct {
    const char *name, *value;
  } kSettings[] = {{"save", ""}, {"appendonly", "no"}, {"maxmemory", "0"}};
  std::string pairs;
  std::size_t count = 0;
  for (const auto& setting : kSettings) {
    const bool is_asked = std::ranges::any_of(call.words.subspan(2), [&](std::string_view pattern) {
      return pattern == "*" || is_word(pattern, setting.name);
    });
    if (!is_asked) continue;
    add_bulk(pairs, setting.name);
    add_bulk(pairs, setting.value);
    count += 2;
  }
  add_array(call.reply, count);
  call.reply += pairs;
}

// redis-cli asks for documentation of each command, to complete words by.
void command(Call& call) {
  if (call.words.size() >= 2 && is_word(call.words[1], "count")) return add_number(call.reply, 0);
  add_array(call.reply, 0);
}

void quit(Call& call) { add_status(call.reply, "OK"); }

struct Command {
  const char* name;
  std::size_t fewest, most;  // words
  void (*run)(Call&);
};

constexpr std::size_t kMany = static_cast<std::size_t>(-1);

constexpr Command kCommands[] = {
    {"get", 2, 2, get},           {"set", 3, kMany, set},         {"del", 2, kMany, del},
    {"exists", 2, kMany, exists}, {"ping", 1, 2, ping},           {"echo", 2, 2, echo},
    {"dbsize", 1, 1, dbsize},     {"pttl", 2, 2, pttl},           {"unlink", 2, kMany, del},
    {"flushall", 1, 2, flushall}, {"info", 1, 2, info},           {"memory", 2, kMany, memory},
    {"config", 3, kMany, config}, {"command", 1, kMany, command}, {"quit", 1, kMany, quit},
    {"scan", 2, kMany, scan},     {"keys", 2, 2, keys},
};

// Redis shows so much of a command that it does not know.
constexpr std::size_t kShown = 128;

void add_unknown(std::string& reply, Words words) {
  std::string arguments;
  for (std::size_t i = 1; i < words.size() && arguments.size() < kShown; ++i)
    arguments += "'" + std::string(words[i].substr(0, kShown - arguments.size())) + "' ";
  const std::string text =
      "ERR unknown command '" + std::string(words[0].substr(0, kShown)) + "', with args beginning with: " + arguments;
  add_error(reply, text);
}

}  // namespace

Then execute(Words words, Store& store, const ServerFacts& facts, Moment now, std::string& reply) {
  const auto* const found =
      std::ranges::find_if(kCommands, [&](const Command& each) { return is_word(words[0], each.name); });
  if (found == std::end(kCommands)) {
    add_unknown(reply, words);
    return Then::kGoOn;
  }
  if (words.size() < found->fewest || words.size() > found->most) {
    add_error(reply, std::string("ERR wrong number of arguments for '") + found->name + "' command");
    return Then::kGoOn;
  }
  const std::size_t before = reply.size();
  Call call{words, store, facts, now, reply};
  try {
    found->run(call);
  } catch (const std::bad_alloc&) {
    reply.resize(before);
    add_error(reply, "OOM there is no memory for this command");
  }
  return found->run == quit ? Then::kClose : Then::kGoOn;
}

}  // namespace cache_server
