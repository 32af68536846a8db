// The values of the configuration as text.
#include <string.h>

#include "allocator/config.h"
#include "allocator/config_keys.h"
#include "base/atomic.h"
#include "base/text.h"

namespace snug {
void print_config_value(const Config& config, size_t index, char* text, size_t capacity) {
  Text<sizeof config.report> value;
  switch (index) {
    case kClasses:
      value.add(config.classes == ClassMap::kDefault ? "default"
                : config.classes == ClassMap::kDense ? "dense"
                                                     : config.class_file);
      break;
    case kSizedDelete:
      value.add(config.sized_delete == SizedDelete::kCheck ? "check" : "trust");
      break;
    case kCache:
      value.add(uint64_t{config.cache});
      break;
    case kHeaps:
      config.heaps == 0 ? value.add("auto") : value.add(uint64_t{config.heaps});
      break;
    case kStores:
      config.stores == 0 ? value.add("auto") : value.add(uint64_t{config.stores});
      break;
    case kBatch:
      value.add(config.batch == Batching::kOne ? "one" : "adaptive");
      break;
    case kRetain:
      value.add(uint64_t{load_shared(config.retain)});
      break;
    case kRetainLarge:
      value.add(uint64_t{load_shared(config.retain_large)});
      break;
    case kLimit:
    case kSoftLimit: {
      const size_t limit = load_shared(index == kLimit ? config.limit : config.soft_limit);
      limit == 0 ? value.add("off") : limit == Config::kAutomatic ? value.add("auto") : value.add(uint64_t{limit});
      break;
    }
    case kPressure:
      config.pressure == 0 ? value.add("off") : value.add(uint64_t{config.pressure});
      break;
    case kPurgeAfter:
      value.add(uint64_t{load_shared(config.purge_after)});
      break;
    case kIdleThread:
      value.add(config.idle_thread == BackgroundThreadMode::kOn    ? "on"
                : config.idle_thread == BackgroundThreadMode::kOff ? "off"
                                                                   : "auto");
      break;
    case kCheck:
      for (const CheckingWord& word : kCheckingWords)
        if (config.check == word.value) value.add(word.word);
      break;
    case kQuarantine:
      value.add(uint64_t{config.quarantine});
      break;
    case kProfile:
      config.profile == 0 ? value.add("off") : value.add(uint64_t{config.profile});
      break;
    case kProfileAt:
      config.profile_at == 0 ? value.add("off") : value.put('+').add(uint64_t{config.profile_at});
      break;
    case kProfileSignal:
      config.profile_signal == 0 ? value.add("off") : value.add(uint64_t{config.profile_signal});
      break;
    case kProfileRt:
      config.profile_rt == 0 ? value.add("off") : value.add(uint64_t{config.profile_rt});
      break;
    case kPublish:
      value.add(config.publish ? "on" : "off");
      break;
    case kProfileOut:
      value.add(config.profile_out);
      break;
    default:
      if (config.reporting == (index == kServed ? Reporting::kCount : Reporting::kStatistics)) value.add(config.report);
      break;
  }
  if (capacity == 0) return;
  const size_t length = value.size() < capacity ? value.size() : capacity - 1;
  memcpy(text, value.data(), length);
  text[length] = 0;
}

}  // namespace snug
