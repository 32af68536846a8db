#include "allocator/config.h"

#include <string.h>

#include "allocator/config_keys.h"
#include "allocator/environment.h"
#include "allocator/reported_mistakes.h"
#include "base/fatal.h"
#include "base/nearest_word.h"
#include "base/poison.h"
#include "base/text.h"
#include "os/process.h"

namespace snug {

namespace {

using Word = ConfigValue;

// Adds a word of the environment to a line; cuts a long one, so that the rest of the line is not cut.
template <size_t Capacity>
void add_word(Text<Capacity>& line, Word word) {
  constexpr size_t kShown = 256;
  line.add_printable(word.bytes, word.length < kShown ? word.length : kShown);
  if (word.length > kShown) line.add("...");
}

void complain_of_key(Word key, ConfigComplaint complain) {
  Text<512> line;
  line.add("snug: SNUG_CONF: unknown key '");
  add_word(line, key);
  NearestWord nearest(key.bytes, key.length);
  for (const ConfigKey& known : kConfigTable) nearest.offer(known.key);
  if (nearest.found() != nullptr) line.add("': did you mean '").add(nearest.found()).add("'?\n");
  if (nearest.found() == nullptr) line.add("'\n");
  complain(line.data(), line.size());
}

void complain_of_value(Word key, Word value, const ConfigFault& fault, ConfigComplaint complain) {
  Text<512> line;
  line.add("snug: SNUG_CONF: bad value '");
  add_word(line, value);
  line.add("' for '").add(key.bytes, key.length).add("': ").add(fault.data(), fault.size()).add("\n");
  complain(line.data(), line.size());
}

void complain_of_change(size_t key, ConfigComplaint complain) {
  Text<512> line;
  line.add("snug: SNUG_CONF: ").add(kConfigTable[key].key);
  line.add(" is read when the process starts, and cannot be changed later\n");
  complain(line.data(), line.size());
}

// With `refused_keys`, of a change to a running process.
void read_pair(Config& config, Word pair, uint32_t* set_keys, uint32_t* refused_keys, ConfigComplaint complain) {
  const auto* colon = static_cast<const char*>(memchr(pair.bytes, ':', pair.length));
  const Word key{pair.bytes, colon == nullptr ? pair.length : static_cast<size_t>(colon - pair.bytes)};
  const Word value = colon == nullptr ? Word{"", 0} : Word{colon + 1, pair.length - key.length - 1};
  for (size_t i = 0; i < kConfigKeys; ++i) {
    if (!key.is(kConfigTable[i].key)) continue;
    const uint32_t bit = uint32_t{1} << i;
    if (refused_keys != nullptr && !kConfigTable[i].rule.may_change) {
      *refused_keys |= bit;
      return complain_of_change(i, complain);
    }
    ConfigFault fault;
    if (set_config_value(config, kConfigTable[i], value, &fault))
      *set_keys |= bit;
    else
      complain_of_value(key, value, fault, complain);
    return;
  }
  complain_of_key(key, complain);
}

void say_nothing(const char*, size_t) {}

// Makes no complaint of a pair that begins within the first `told` bytes.
Config read_pairs(const char* text, size_t told, uint32_t* set_keys, uint32_t* refused_keys, ConfigComplaint complain) {
  const char* const told_end = text + told;
  Config config;
  *set_keys = 0;
  while (*text != 0) {
    const char* end = strchr(text, ',');
    const size_t length = end == nullptr ? strlen(text) : static_cast<size_t>(end - text);
    if (length != 0)
      read_pair(config, {text, length}, set_keys, refused_keys, text < told_end ? &say_nothing : complain);
    text += length + (end == nullptr ? 0 : 1);
  }
  return config;
}

bool has_complained;  // of the environment

void complain_of_environment(const char* line, size_t length) {
  has_complained = true;
  write_line(line, length);
}

// The variable, which a privileged program does not listen to.
const char* setting() {
  const char* const text = os::is_privileged() ? nullptr : environment_value("SNUG_CONF");
  return text == nullptr ? "" : text;
}

}  // namespace

void complain_of_refusal(const char* line, size_t length) {
  const char* const text = setting();
  if (!has_complained && told_length(text) != 0) return;
  complain_of_environment(line, length);
  mark_as_told(text);
}

Config parse_config(const char* text, uint32_t* set_keys, ConfigComplaint complain, uint32_t* refused_keys) {
  return read_pairs(text, 0, set_keys, refused_keys, complain);
}

Config read_config(uint32_t* set_keys) {
  const char* const text = setting();
  has_complained = false;
  Config config = read_pairs(text, told_length(text), set_keys, nullptr, &complain_of_environment);
  if (config.writes_profiles() && config.profile_out[0] == 0 && told_length(text) == 0) {
    constexpr char kLine[] =
        "snug: SNUG_CONF: profile_at and profile_signal write to the file that profile_out names\n";
    complain_of_environment(kLine, sizeof kLine - 1);
  }
  if (has_complained) mark_as_told(text);
  // A library that is compiled with a sanitizer is itself under test: no check:on by default.
  if (kSanitized || has_key(*set_keys, kCheck)) return config;
  look_for_checkers();
  if (is_checked()) config.check = Checking::kOn;
  return config;
}

}  // namespace snug
