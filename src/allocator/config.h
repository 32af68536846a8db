// Configuration: SNUG_CONF=key:value,key:value in the environment, read once, before the first allocation; ignored in
// programs that run with more rights than their caller. Sizes take a suffix K, M or G (powers of 1024). A mistake is
// reported on standard error, once in a process and all that it starts, and the default stays in force.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "allocator/class_file.h"
#include "allocator/config_value.h"
#include "size/class_list.h"
#include "thread/head_table.h"
#include "thread/thread_cache.h"

namespace snug {

enum class ClassMap { kDefault, kDense, kFile };
enum class BackgroundThreadMode { kOff, kOn, kAuto };
enum class Checking { kOff, kOn, kStacks, kSample };
enum class Reporting { kStatistics, kCount };

inline constexpr size_t kLeastProfileAt = size_t{1} << 20;

struct Config {
  static constexpr size_t kAutomatic = SIZE_MAX;  // of a limit

  // classes: default | dense | a file's path, default default. The size-class map: default has roomy caches and classes
  // up to 256 KiB; dense caches at most 8 blocks or 1 KiB of a class; a file may define any (size/map_reader.h).
  ClassMap classes = ClassMap::kDefault;
  char class_file[1024] = "";
  ClassList file_classes;  // what the file says
  // sized_delete: trust | check, default check. Whether a sized delete with a size up to 64 KiB believes it, or
  // looks the block up as free does.
  SizedDelete sized_delete = SizedDelete::kCheck;
  // cache: bytes, default 8M, or the thread's part of a 128th of the memory that the process may have if that is less.
  // The most that one thread's cache has room for, but for one block of each class.
  size_t cache = CacheLimits().budget;
  // heaps: a number from 1 to 65532, or auto, the default: four for each processor that the process may run on. The
  // most heaps that threads have; further threads share heaps. 0 for auto.
  uint32_t heaps = 0;
  // stores: a number from 1 to 16, or auto, the default: one for each four processors that the process may run on.
  // Among how many stores the heaps of threads have their free pages divided. 0 for auto.
  uint32_t stores = 0;
  // batch: adaptive | one, default adaptive. How many blocks move between a thread's cache and the slabs at once. `one`
  // is for measuring the benefit of batches.
  Batching batch = Batching::kAdaptive;
  // retain: bytes, default 64M, or as much as is in use up to four times that; or a 16th of the memory that the process
  // may have if that is less. The most empty pages that are kept before any go back to the OS at once. While the
  // background thread runs, as many as were in use of late stay for purge_after: up to a 16th of that memory, or up to
  // `retain` if it is set.
  size_t retain = size_t{64} << 20;
  // retain_large: bytes, default as of retain. The most memory of freed large blocks in mappings of their own that is
  // kept before any goes back to the OS at once; freed runs count under retain.
  size_t retain_large = size_t{64} << 20;
  // limit: bytes, auto or off, the default. The most memory that the heap may hold (include/snug/limits.h); a request
  // beyond it is refused. auto: what is left to it of the container's. 0 for off.
  size_t limit = 0;
  // soft_limit: bytes, auto or off, the default. Beyond it all that is empty goes back, and the program's callbacks are
  // asked to free memory. auto: what is left of the container's memory.high, or 7/8 of what limit:auto is. 0 for off.
  size_t soft_limit = 0;
  // pressure: percent, or off, the default. The part of ten seconds for which some task of the container waits for
  // memory (PSI) from which the same happens. With this, or an auto of the two above, idle_thread is on.
  uint32_t pressure = 0;
  // purge_after: milliseconds, default 1000. How long empty memory may lie unused before it goes back.
  uint32_t purge_after = 1000;
  // idle_thread: auto | on | off, default auto. A thread of snug's own gives back what is older than purge_after while
  // the program makes no call that would. auto: once the program itself has threads.
  BackgroundThreadMode idle_thread = BackgroundThreadMode::kAuto;
  // check: off | on | stacks | sample, default off, but on under a memory checker, which only the quarantine tells of
  // freed blocks. on: every block is checked when it is freed, and for a while after. stacks: the call stacks that
  // allocated and freed it are kept too. sample: a few blocks, chosen at random, lie on pages of their own between
  // inaccessible ones. Misuse of a block ends the process (docs/checking.md).
  Checking check = Checking::kOff;
  // quarantine: bytes, default 4M. With check:on or stacks, the most bytes of freed blocks that wait before they may be
  // handed out again.
  size_t quarantine = size_t{4} << 20;
  // profile: bytes from 1K to 1G, or off, the default. The mean distance between samples of the heap profile, which
  // runs from the start. With it sized_delete is check, and check:on keeps it off.
  size_t profile = 0;
  // profile_out: a file's path, default none. The profile is written there when the process exits, in pprof's format,
  // the process's number in place of %p, or behind a point at the end; in place of %n the number of the file, from 1.
  char profile_out[1024] = "";
  // profile_at: + and bytes from 1M, or off, the default. The profile is also written there each time that the heap
  // holds so much more than at the last one of these; and by profile_signal: a signal, or off, the default, when the
  // process gets that. A thread of snug's own writes it; with either, idle_thread is on.
  size_t profile_at = 0;
  uint32_t profile_signal = 0;
  bool writes_profiles() const { return profile_at != 0 || profile_signal != 0; }
  // profile_rt: bytes from 1M to 1T, or off, the default. A region for threads with deadlines, made at the start: each
  // thread with a real-time policy announces itself (realtime/real_time_parts.h). With it sized_delete is check;
  // check:on keeps it off.
  size_t profile_rt = 0;
  // publish: off | on, default off. on: tools of the same user may ask the running process for its statistics and its
  // heap profile, and have it give memory back (control/control_page.h). A thread of snug's own answers them; with it
  // idle_thread is on.
  bool publish = false;
  // report: a file's path, default none. When the process exits, one line of JSON with its statistics is appended.
  // served: the same with only the count of allocations, which costs nothing while the program runs. Of the two the one
  // that is set last is in force.
  char report[1024] = "";
  Reporting reporting = Reporting::kStatistics;
};

// What is said of a bad value.
using ConfigFault = ClassFileFault;

// One key: what people and tools are told of it, and all by which its value is read, printed and changed.
struct ConfigKey {
  // What a value is that is none of the words; kGrowth: a size behind a +.
  enum Kind : uint8_t { kWord, kNumber, kSize, kGrowth, kSignal, kPath, kClasses, kReport };
  struct Word {
    const char* word;
    uint64_t value;
  };
  struct Rule {
    Kind kind;
    uint64_t (*load)(const Config& config) = nullptr;  // null of kPath
    void (*store)(Config& config, uint64_t value) = nullptr;
    uint64_t least = 0;  // of a number; of kReport what is stored with its path
    uint64_t most = 0;
    Word words[4] = {};
    bool may_change = false;  // while the process runs
  };

  const char* key;
  const char* unit;
  const char* help;
  const char* expected;  // instead of a bad value
  Rule rule;
};

inline constexpr size_t kConfigKeys = 23;
extern const ConfigKey kConfigTable[kConfigKeys];

// `retain`, `retain_large` and `cache` of a process that may have so many bytes of memory. Keys in
// `set_keys`, by the environment or by a change, keep their values, and `cache` always does; the others are in
// proportion to the memory below 2 GiB.
struct Retained {
  struct Bounds {
    size_t bytes;
    size_t by_age;  // the most of what was in use of late, while the background thread runs
  };
  Bounds pages;
  size_t pages_in_use;  // the most where as much is in use
  Bounds large;
  size_t cache;   // of a thread's cache
  size_t caches;  // of all of them
};
Retained retained_within(size_t memory, const Config& config, uint32_t set_keys);

// Writes the value of the index-th key into `text` (at most `capacity` bytes with the final 0).
void print_config_value(const Config& config, size_t index, char* text, size_t capacity);

// Sets a key; true, or `fault` says what is wrong with the value.
bool set_config_value(Config& config, const ConfigKey& key, ConfigValue value, ConfigFault* fault);

// Gives `config`, which other threads read, the values of the keys that have their bits in `keys`, and may change.
void take_changes(Config& config, const Config& wanted, uint32_t keys);

// A function that gets a line, with its newline, about one mistake.
using ConfigComplaint = void (*)(const char* line, size_t length);

// Reads the configuration in `text`. `set_keys` gets a bit for each key that it sets. Complains once of each mistake.
// With `refused_keys`, of changes to a running process: a key that may not change is complained of before its value is
// looked at, and gets a bit there.
Config parse_config(const char* text, uint32_t* set_keys, ConfigComplaint complain, uint32_t* refused_keys = nullptr);

// Reads the environment's SNUG_CONF; complains on standard error of mistakes of which no ancestor of this process has
// complained (allocator/reported_mistakes.h).
Config read_config(uint32_t* set_keys);
// A line of what the process cannot have of what the environment sets, found later as the allocator opens. Of the
// processes of a run the first alone says it, as with mistakes (allocator/reported_mistakes.h). The thread that has
// read the configuration calls this.
void complain_of_refusal(const char* line, size_t length);

}  // namespace snug
