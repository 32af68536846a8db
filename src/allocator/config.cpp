#include "allocator/config.h"

#include <string.h>

#include "allocator/class_file.h"
#include "allocator/config_keys.h"
#include "allocator/config_value.h"
#include "allocator/environment.h"
#include "allocator/reported_mistakes.h"
#include "base/algorithm.h"
#include "base/fatal.h"
#include "base/nearest_word.h"
#include "base/poison.h"
#include "base/text.h"
#include "os/appended_file.h"
#include "os/process.h"
#include "os/told_signal.h"
#include "profile/sample_distance.h"
#include "realtime/real_time_parts.h"
#include "span/span_stores.h"

namespace snug {

static_assert(kServed + 1 == kConfigKeys, "each key has a name in config_keys.h and a row here");
const ConfigKey kConfigTable[kConfigKeys] = {
    {"classes", "default|dense|path",
     "size-class map: dense caches at most 8 blocks or 1 KiB of a class in each thread; a file's path is that of a map "
     "that `snug classes` has written"},
    {"sized_delete", "check|trust", "whether a sized delete of up to 64 KiB looks the block up or believes its size"},
    {"cache", "bytes", "the most that one thread's cache has room for, but for one block of each class"},
    {"heaps", "auto|number",
     "the most heaps that threads have; further threads share them; auto: four for each processor"},
    {"stores", "auto|number",
     "among how many stores, each with a lock of its own, the free pages are divided; auto: one for four processors"},
    {"batch", "adaptive|one",
     "how many blocks pass between a thread's cache and the slabs at once; one is for measuring"},
    {"retain", "bytes", "empty pages kept before any go back to the OS at once"},
    {"retain_large", "bytes", "memory of freed large blocks kept before any goes back to the OS at once"},
    {"limit", "off|auto|bytes",
     "the most memory that the heap may hold; a request beyond it is refused; auto: what the container leaves it"},
    {"soft_limit", "off|auto|bytes",
     "the memory beyond which all that is empty goes back and the program's callbacks are asked to free some; auto: "
     "the container's memory.high, or 7/8 of what it may have"},
    {"pressure", "off|percent",
     "the part of the time that tasks of the container wait for memory from which the same is done"},
    {"purge_after", "milliseconds",
     "how long empty memory may lie unused before further allocations and frees send it back to the OS"},
    {"idle_thread", "auto|on|off",
     "whether a thread gives that memory back while the program makes no call that would; auto: once it has threads "
     "itself"},
    {"check", "off|on|stacks|sample",
     "whether misuse of blocks is looked for and ends the process; stacks: which names who allocated and freed the "
     "block; sample: of a few blocks only, on guarded pages"},
    {"quarantine", "bytes",
     "with check:on or stacks, the most that freed blocks hold before they may be handed out again"},
    {"profile", "off|bytes",
     "the mean distance between samples of the heap profile, which runs from the start; 512K is usual"},
    {"profile_out", "path",
     "file to which the heap profile is written when the process exits, for pprof; %p in it, or else a suffix, is the "
     "process's number, %n counts the files that it writes"},
    {"profile_at", "off|+bytes",
     "also each time that the heap holds so much more than at the last profile; implies idle_thread:on"},
    {"profile_signal", "off|signal",
     "also when the process gets this signal, by number, or SIGHUP, SIGUSR1 or SIGUSR2; implies idle_thread:on"},
    {"profile_rt", "off|bytes",
     "a region of memory that does not fault, for threads under a real-time policy: their malloc and free have a worst "
     "case"},
    {"publish", "off|on",
     "on: tools of the same user may ask the running process for its statistics and heap profile, and have it give "
     "memory back; implies idle_thread:on"},
    {"report", "path", "file to which one line of JSON with the statistics is appended when the process exits"},
    {"served", "path",
     "the same with the count of allocations alone, which costs nothing while the program runs; the last of the two "
     "is in force"},
};

namespace {

static_assert(HeapRegistry::kMostHeaps == 65534, "what is said of a bad value names it");

using Word = ConfigValue;

// The text that follows a bad value in its complaint.
using Reason = ClassFileFault;

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

void complain_of_value(Word key, Word value, const Reason& reason, ConfigComplaint complain) {
  Text<512> line;
  line.add("snug: SNUG_CONF: bad value '");
  add_word(line, value);
  line.add("' for '").add(key.bytes, key.length).add("': ").add(reason.data(), reason.size()).add("\n");
  complain(line.data(), line.size());
}

void complain_of_change(size_t key, ConfigComplaint complain) {
  Text<512> line;
  line.add("snug: SNUG_CONF: ").add(kConfigTable[key].key);
  line.add(" is read when the process starts, and cannot be changed later\n");
  complain(line.data(), line.size());
}

bool set_path(char (&path)[1024], Word value) {
  if (value.length == 0 || value.length >= sizeof path) return false;
  memcpy(path, value.bytes, value.length);
  path[value.length] = 0;
  return true;
}

// True, or `reason` says what is wrong with the file.
bool set_classes(Config& config, Word value, Reason* reason) {
  char path[sizeof config.class_file];
  if (value.is("default") || value.is("dense")) {
    config.classes = value.is("dense") ? ClassMap::kDense : ClassMap::kDefault;
  } else if (!set_path(path, value)) {
    reason->add("expected default, dense or a map file's path of 1 to 1023 bytes");
    return false;
  } else if (!read_class_file(path, &config.file_classes, reason)) {
    return false;
  } else {
    memcpy(config.class_file, path, sizeof path);
    config.classes = ClassMap::kFile;
  }
  return true;
}

// True, or `reason` says why the file cannot be appended to.
bool set_report(Config& config, Reporting reporting, Word value, Reason* reason) {
  char path[sizeof config.report];
  const char* fault = "expected a path of 1 to 1023 bytes";
  if (set_path(path, value)) fault = os::append_fault(path);
  if (fault != nullptr) {
    reason->add(fault);
    return false;
  }
  memcpy(config.report, path, sizeof path);
  config.reporting = reporting;
  return true;
}

const char* set_profile_at(Config& config, Word value) {
  uint64_t bytes = 0;
  const bool is_growth = value.length != 0 && value.bytes[0] == '+';
  if (!value.is("off") && (!is_growth || !parse_size({value.bytes + 1, value.length - 1}, size_t{1} << 50, &bytes) ||
                           bytes < kLeastProfileAt))
    return "off, or + and a size in bytes from 1M, as in +256M";
  config.profile_at = bytes;
  return nullptr;
}

const char* set_profile_signal(Config& config, Word value) {
  uint64_t number = 0;
  if (!value.is("off") && (number = os::signal_number(value.bytes, value.length)) == 0 &&
      (!parse_number(value, UINT32_MAX, &number) || !os::may_tell_signal(static_cast<uint32_t>(number))))
    return "off, SIGHUP, SIGUSR1, SIGUSR2 or the number of a signal that tells of no fault";
  config.profile_signal = static_cast<uint32_t>(number);
  return nullptr;
}

// Sets one key that is no path. Null, or what was expected instead of the value.
const char* set_plain(Config& config, size_t key, Word value) {
  uint64_t number = 0;
  switch (key) {
    case kSizedDelete:
      if (!value.is("trust") && !value.is("check")) return "check or trust";
      config.sized_delete = value.is("check") ? SizedDelete::kCheck : SizedDelete::kTrust;
      return nullptr;
    case kCache:
      if (!parse_size(value, size_t{1} << 40, &number)) return "a size in bytes up to 1024G, as in 64K, 4M, 1G";
      config.cache = number;
      return nullptr;
    case kHeaps:
      if (!value.is("auto") && (!parse_number(value, HeapRegistry::kMostHeaps, &number) || number == 0))
        return "auto or a number from 1 to 65534";
      config.heaps = static_cast<uint32_t>(number);
      return nullptr;
    case kStores:
      if (!value.is("auto") && (!parse_number(value, SpanStores::kMost, &number) || number == 0))
        return "auto or a number from 1 to 16";
      config.stores = static_cast<uint32_t>(number);
      return nullptr;
    case kBatch:
      if (!value.is("adaptive") && !value.is("one")) return "adaptive or one";
      config.batch = value.is("one") ? Batching::kOne : Batching::kAdaptive;
      return nullptr;
    case kRetain:
    case kRetainLarge:
      if (!parse_size(value, size_t{1} << 50, &number)) return "a size in bytes, as in 64K, 4M, 1G";
      (key == kRetain ? config.retain : config.retain_large) = number;
      return nullptr;
    case kLimit:
    case kSoftLimit:
      if (value.is("auto"))
        number = Config::kAutomatic;
      else if (!value.is("off") && (!parse_size(value, size_t{1} << 50, &number) || number == 0))
        return "off, auto or a size in bytes, as in 64M, 4G";
      (key == kLimit ? config.limit : config.soft_limit) = number;
      return nullptr;
    case kPressure:
      if (!value.is("off") && (!parse_number(value, 100, &number) || number == 0))
        return "off or a percentage from 1 to 100";
      config.pressure = static_cast<uint32_t>(number);
      return nullptr;
    case kQuarantine:
      if (!parse_size(value, size_t{1} << 40, &number)) return "a size in bytes up to 1024G, as in 64K, 4M, 1G";
      config.quarantine = number;
      return nullptr;
    case kProfile:
      if (!value.is("off") &&
          (!parse_size(value, SampleDistance::kMostMean, &number) || number < SampleDistance::kLeastMean))
        return "off or a size in bytes from 1K to 1G";
      config.profile = number;
      return nullptr;
    case kProfileOut:
      return set_path(config.profile_out, value) ? nullptr : "a path of 1 to 1023 bytes";
    case kProfileAt:
      return set_profile_at(config, value);
    case kProfileSignal:
      return set_profile_signal(config, value);
    case kProfileRt:
      if (!value.is("off") && (!parse_size(value, size_t{1} << 40, &number) || number < RealTimeParts::kLeastBytes))
        return "off or a size in bytes from 1M to 1024G";
      config.profile_rt = number;
      return nullptr;
    case kPublish:
      if (!value.is("on") && !value.is("off")) return "on or off";
      config.publish = value.is("on");
      return nullptr;
    case kCheck:
      for (const CheckingWord& word : kCheckingWords) {
        if (!value.is(word.word)) continue;
        config.check = word.value;
        return nullptr;
      }
      return "off, on, stacks or sample";
    case kPurgeAfter:
      if (!parse_number(value, 86400000, &number)) return "milliseconds from 0 to 86400000";
      config.purge_after = static_cast<uint32_t>(number);
      return nullptr;
    case kIdleThread:
      if (!value.is("auto") && !value.is("on") && !value.is("off")) return "auto, on or off";
      config.idle_thread = value.is("on")    ? BackgroundThreadMode::kOn
                           : value.is("off") ? BackgroundThreadMode::kOff
                                             : BackgroundThreadMode::kAuto;
      return nullptr;
    default:
      return "no value: set_plain() has no case for the key";
  }
}

// True, or `reason` says what is wrong.
bool set(Config& config, size_t key, Word value, Reason* reason) {
  if (key == kClasses) return set_classes(config, value, reason);
  if (key == kReport) return set_report(config, Reporting::kStatistics, value, reason);
  if (key == kServed) return set_report(config, Reporting::kCount, value, reason);
  const char* expected = set_plain(config, key, value);
  if (expected != nullptr) reason->add("expected ").add(expected);
  return expected == nullptr;
}

// With `refused_keys`, of a change to a running process.
void read_pair(Config& config, Word pair, uint32_t* set_keys, uint32_t* refused_keys, ConfigComplaint complain) {
  const auto* colon = static_cast<const char*>(memchr(pair.bytes, ':', pair.length));
  const Word key{pair.bytes, colon == nullptr ? pair.length : static_cast<size_t>(colon - pair.bytes)};
  const Word value = colon == nullptr ? Word{"", 0} : Word{colon + 1, pair.length - key.length - 1};
  for (size_t i = 0; i < kConfigKeys; ++i) {
    if (!key.is(kConfigTable[i].key)) continue;
    const uint32_t bit = uint32_t{1} << i;
    if (refused_keys != nullptr && !may_change(i)) {
      *refused_keys |= bit;
      return complain_of_change(i, complain);
    }
    Reason reason;
    if (set(config, i, value, &reason))
      *set_keys |= bit;
    else
      complain_of_value(key, value, reason, complain);
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

}  // namespace

Config parse_config(const char* text, uint32_t* set_keys, ConfigComplaint complain) {
  return read_pairs(text, 0, set_keys, nullptr, complain);
}

Config parse_changes(const char* text, uint32_t* set_keys, uint32_t* refused_keys, ConfigComplaint complain) {
  return read_pairs(text, 0, set_keys, refused_keys, complain);
}

Config read_config(uint32_t* set_keys) {
  const char* text = os::is_privileged() ? nullptr : environment_value("SNUG_CONF");
  if (text == nullptr) text = "";
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
