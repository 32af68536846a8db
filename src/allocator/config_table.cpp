// The keys of SNUG_CONF, and how a value of one is read, printed and changed.
#include <string.h>

#include "allocator/config.h"
#include "allocator/config_keys.h"
#include "base/atomic.h"
#include "base/text.h"
#include "os/appended_file.h"
#include "os/told_signal.h"
#include "profile/sample_distance.h"
#include "realtime/real_time_parts.h"
#include "slab/heap_registry.h"
#include "span/span_stores.h"

namespace snug {
namespace {

constexpr uint64_t kTebibyte = uint64_t{1} << 40;
constexpr uint64_t kPebibyte = uint64_t{1} << 50;

template <auto kMember>
void store_value(Config& config, uint64_t value) {
  using Value = decltype(load_shared(config.*kMember));
  store_shared(config.*kMember, static_cast<Value>(value));
}

// Of the member of Config that a key is about: a number, an enumerator or a bool.
template <auto kMember, class Least, class... Words>
constexpr ConfigKey::Rule rule(ConfigKey::Kind kind, Least least, uint64_t most, Words... words) {
  const auto load = [](const Config& config) { return static_cast<uint64_t>(load_shared(config.*kMember)); };
  return {kind, load, store_value<kMember>, static_cast<uint64_t>(least), most, {words...}};
}
template <auto kMember, class... Words>
constexpr ConfigKey::Rule one_of(Words... words) {
  return rule<kMember>(ConfigKey::kWord, 0, 0, words...);
}
constexpr ConfigKey::Rule may_change(ConfigKey::Rule rule) {
  rule.may_change = true;
  return rule;
}

template <class Value>
constexpr ConfigKey::Word word(const char* text, Value value) {
  return {text, static_cast<uint64_t>(value)};
}
constexpr ConfigKey::Word kOff = word("off", 0);

}  // namespace

// In memory that is not written: it is read while the heap starts.
constexpr ConfigKey kConfigTable[kConfigKeys] = {
    {"classes", "default|dense|path",
     "size-class map: dense caches at most 8 blocks or 1 KiB of a class in each thread; a file's path is that of a map "
     "that `snug classes` has written",
     "default, dense or a map file's path of 1 to 1023 bytes",
     rule<&Config::classes>(ConfigKey::kClasses, 0, 0, word("default", ClassMap::kDefault),
                            word("dense", ClassMap::kDense))},
    {"sized_delete", "check|trust", "whether a sized delete of up to 64 KiB looks the block up or believes its size",
     "check or trust",
     one_of<&Config::sized_delete>(word("check", SizedDelete::kCheck), word("trust", SizedDelete::kTrust))},
    {"cache", "bytes", "the most that one thread's cache has room for, but for one block of each class",
     "a size in bytes up to 1024G, as in 64K, 4M, 1G", rule<&Config::cache>(ConfigKey::kSize, 0, kTebibyte)},
    {"heaps", "auto|number",
     "the most heaps that threads have; further threads share them; auto: four for each processor",
     "auto or a number from 1 to 65532",
     rule<&Config::heaps>(ConfigKey::kNumber, 1, HeapRegistry::kMostHeaps, word("auto", 0))},
    {"stores", "auto|number",
     "among how many stores, each with a lock of its own, the free pages are divided; auto: one for four processors",
     "auto or a number from 1 to 16", rule<&Config::stores>(ConfigKey::kNumber, 1, SpanStores::kMost, word("auto", 0))},
    {"batch", "adaptive|one",
     "how many blocks pass between a thread's cache and the slabs at once; one is for measuring", "adaptive or one",
     one_of<&Config::batch>(word("adaptive", Batching::kAdaptive), word("one", Batching::kOne))},
    {"retain", "bytes", "empty pages kept before any go back to the OS at once", "a size in bytes, as in 64K, 4M, 1G",
     may_change(rule<&Config::retain>(ConfigKey::kSize, 0, kPebibyte))},
    {"retain_large", "bytes", "memory of freed large blocks kept before any goes back to the OS at once",
     "a size in bytes, as in 64K, 4M, 1G", may_change(rule<&Config::retain_large>(ConfigKey::kSize, 0, kPebibyte))},
    {"limit", "off|auto|bytes",
     "the most memory that the heap may hold; a request beyond it is refused; auto: what the container leaves it",
     "off, auto or a size in bytes, as in 64M, 4G",
     may_change(rule<&Config::limit>(ConfigKey::kSize, 1, kPebibyte, kOff, word("auto", Config::kAutomatic)))},
    {"soft_limit", "off|auto|bytes",
     "the memory beyond which all that is empty goes back and the program's callbacks are asked to free some; auto: "
     "the container's memory.high, or 7/8 of what it may have",
     "off, auto or a size in bytes, as in 64M, 4G",
     may_change(rule<&Config::soft_limit>(ConfigKey::kSize, 1, kPebibyte, kOff, word("auto", Config::kAutomatic)))},
    {"pressure", "off|percent",
     "the part of the time that tasks of the container wait for memory from which the same is done",
     "off or a percentage from 1 to 100", rule<&Config::pressure>(ConfigKey::kNumber, 1, 100, kOff)},
    {"purge_after", "milliseconds",
     "how long empty memory may lie unused before further allocations and frees send it back to the OS",
     "milliseconds from 0 to 86400000", may_change(rule<&Config::purge_after>(ConfigKey::kNumber, 0, 86400000))},
    {"idle_thread", "auto|on|off",
     "whether a thread gives that memory back while the program makes no call that would; auto: once it has threads "
     "itself",
     "auto, on or off",
     one_of<&Config::idle_thread>(word("auto", BackgroundThreadMode::kAuto), word("on", BackgroundThreadMode::kOn),
                                  word("off", BackgroundThreadMode::kOff))},
    {"check", "off|on|stacks|sample",
     "whether misuse of blocks is looked for and ends the process; stacks: which names who allocated and freed the "
     "block; sample: of a few blocks only, on guarded pages",
     "off, on, stacks or sample",
     one_of<&Config::check>(word("off", Checking::kOff), word("on", Checking::kOn), word("stacks", Checking::kStacks),
                            word("sample", Checking::kSample))},
    {"quarantine", "bytes",
     "with check:on or stacks, the most that freed blocks hold before they may be handed out again",
     "a size in bytes up to 1024G, as in 64K, 4M, 1G", rule<&Config::quarantine>(ConfigKey::kSize, 0, kTebibyte)},
    {"profile", "off|bytes",
     "the mean distance between samples of the heap profile, which runs from the start; 512K is usual",
     "off or a size in bytes from 1K to 1G",
     rule<&Config::profile>(ConfigKey::kSize, SampleDistance::kLeastMean, SampleDistance::kMostMean, kOff)},
    {"profile_out",
     "path",
     "file to which the heap profile is written when the process exits, for pprof; %p in it, or else a suffix, is the "
     "process's number, %n counts the files that it writes",
     "a path of 1 to 1023 bytes",
     {ConfigKey::kPath}},
    {"profile_at", "off|+bytes",
     "also each time that the heap holds so much more than at the last profile; implies idle_thread:on",
     "off, or + and a size in bytes from 1M, as in +256M",
     rule<&Config::profile_at>(ConfigKey::kGrowth, kLeastProfileAt, kPebibyte, kOff)},
    {"profile_signal", "off|signal",
     "also when the process gets this signal, by number, or SIGHUP, SIGUSR1 or SIGUSR2; implies idle_thread:on",
     "off, SIGHUP, SIGUSR1, SIGUSR2 or the number of a signal that tells of no fault",
     rule<&Config::profile_signal>(ConfigKey::kSignal, 1, UINT32_MAX, kOff)},
    {"profile_rt", "off|bytes",
     "a region of memory that does not fault, for threads under a real-time policy: their malloc and free have a worst "
     "case",
     "off or a size in bytes from 1M to 1024G",
     rule<&Config::profile_rt>(ConfigKey::kSize, RealTimeParts::kLeastBytes, kTebibyte, kOff)},
    {"publish", "off|on",
     "on: tools of the same user may ask the running process for its statistics and heap profile, and have it give "
     "memory back; implies idle_thread:on",
     "on or off", one_of<&Config::publish>(kOff, word("on", true))},
    {"report", "path", "file to which one line of JSON with the statistics is appended when the process exits",
     "a path of 1 to 1023 bytes", rule<&Config::reporting>(ConfigKey::kReport, Reporting::kStatistics, 0)},
    {"served", "path",
     "the same with the count of allocations alone, which costs nothing while the program runs; the last of the two "
     "is in force",
     "a path of 1 to 1023 bytes", rule<&Config::reporting>(ConfigKey::kReport, Reporting::kCount, 0)},
};

namespace {

static_assert(HeapRegistry::kMostHeaps == 65532 && SpanStores::kMost == 16, "what is said of a bad value names them");

constexpr bool is_named(size_t key, const char* name) {
  const char* own = kConfigTable[key].key;
  while (*own != 0 && *own == *name) ++own, ++name;
  return *own == *name;
}
static_assert(is_named(kConfigKeys - 1, "served") && is_named(kCache, "cache") && is_named(kRetain, "retain") &&
                  is_named(kRetainLarge, "retain_large") && is_named(kLimit, "limit") &&
                  is_named(kSoftLimit, "soft_limit") && is_named(kCheck, "check"),
              "config_keys.h has the places of the keys");

bool copy_path(char (&path)[1024], ConfigValue value) {
  if (value.length == 0 || value.length >= sizeof path) return false;
  memcpy(path, value.bytes, value.length);
  path[value.length] = 0;
  return true;
}

bool read_number(const ConfigKey::Rule& rule, ConfigValue value, uint64_t* number) {
  switch (rule.kind) {
    case ConfigKey::kNumber:
      return parse_number(value, rule.most, number);
    case ConfigKey::kGrowth:
      if (value.length == 0 || *value.bytes != '+') return false;
      return parse_size({value.bytes + 1, value.length - 1}, rule.most, number);
    case ConfigKey::kSize:
      return parse_size(value, rule.most, number);
    case ConfigKey::kSignal:
      *number = os::signal_number(value.bytes, value.length);
      if (*number != 0) return true;
      return parse_number(value, rule.most, number) && os::may_tell_signal(static_cast<uint32_t>(*number));
    default:
      return false;
  }
}

}  // namespace

bool set_config_value(Config& config, const ConfigKey& key, ConfigValue value, ConfigFault* fault) {
  const ConfigKey::Rule& rule = key.rule;
  for (const ConfigKey::Word& word : rule.words) {
    if (word.word == nullptr || !value.is(word.word)) continue;
    rule.store(config, word.value);
    return true;
  }
  char path[1024];
  uint64_t number = 0;
  const bool is_path = rule.kind >= ConfigKey::kPath;
  if (is_path ? !copy_path(path, value) : !read_number(rule, value, &number) || number < rule.least) {
    fault->add("expected ").add(key.expected);
    return false;
  }
  switch (rule.kind) {
    case ConfigKey::kPath:
      memcpy(config.profile_out, path, sizeof path);
      return true;
    case ConfigKey::kClasses:
      if (!read_class_file(path, &config.file_classes, fault)) return false;
      memcpy(config.class_file, path, sizeof path);
      number = static_cast<uint64_t>(ClassMap::kFile);
      break;
    case ConfigKey::kReport:
      if (const char* const refusal = os::append_fault(path); refusal != nullptr) {
        fault->add(refusal);
        return false;
      }
      memcpy(config.report, path, sizeof path);
      number = rule.least;
      break;
    default:
      break;
  }
  rule.store(config, number);
  return true;
}

void print_config_value(const Config& config, size_t index, char* text, size_t capacity) {
  const ConfigKey::Rule& rule = kConfigTable[index].rule;
  const uint64_t number = rule.kind == ConfigKey::kPath ? 0 : rule.load(config);
  const char* words = rule.kind == ConfigKey::kPath      ? config.profile_out
                      : rule.kind == ConfigKey::kClasses ? config.class_file
                      : rule.kind != ConfigKey::kReport  ? nullptr
                      : number == rule.least             ? config.report
                                                         : "";
  for (const ConfigKey::Word& word : rule.words)
    if (word.word != nullptr && word.value == number) words = word.word;
  Text<sizeof config.report> value;
  if (words == nullptr && rule.kind == ConfigKey::kGrowth) value.put('+');
  words != nullptr ? value.add(words) : value.add(number);
  if (capacity == 0) return;
  const size_t length = value.size() < capacity ? value.size() : capacity - 1;
  memcpy(text, value.data(), length);
  text[length] = 0;
}

void take_changes(Config& config, const Config& wanted, uint32_t keys) {
  for (size_t i = 0; i != kConfigKeys; ++i)
    if (const ConfigKey::Rule& rule = kConfigTable[i].rule; has_key(keys, i) && rule.may_change)
      rule.store(config, rule.load(wanted));
}

}  // namespace snug
