#include "allocator/control_answers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "allocator/address_description.h"
#include "allocator/allocator.h"
#include "allocator/config.h"
#include "allocator/profile_output.h"
#include "allocator/refusal.h"
#include "allocator/report.h"
#include "base/text.h"
#include "snug/profile.h"

namespace snug {
namespace {

void write_settings(os::OutputStream& out) {
  for (size_t key = 0; key != kConfigKeys; ++key) {
    char value[sizeof(Config::report)];
    print_config_value(allocator.config, key, value, sizeof value);
    out.put(kConfigTable[key].key);
    out.put("\t");
    for (char* c = value; *c != 0; ++c)
      if (static_cast<unsigned char>(*c) < ' ') *c = '?';
    out.put(value);
    out.put("\t");
    out.put(allocator.origin_of(key));
    out.put(kConfigTable[key].rule.may_change ? "\t1\n" : "\t0\n");
  }
}

int change_settings(const char* words, os::OutputStream& out) {
  Text<256> message;
  const int error = allocator.change_settings(words, message);
  out.put(message.data());
  return error;
}

// The mean number of bytes between two samples, which `words` gives in digits. Returns 0 for anything else, which
// start_profile() refuses with EINVAL.
size_t distance_in(const char* words) {
  uint64_t distance = 0;
  return parse_number({words, strlen(words)}, SIZE_MAX, &distance) ? distance : 0;
}

}  // namespace

// A profile of more stacks is refused; statistics have an entry for each class and thread.
size_t room_of_answer(ControlCommand command) {
  constexpr size_t kOfProfile = size_t{4} << 20;
  constexpr size_t kOfStatistics = size_t{64} << 10;
  constexpr size_t kOfThread = 256;
  return command == ControlCommand::kProfileWrite ? kOfProfile
                                                  : kOfStatistics + (allocator.caches.cache_count() + 64) * kOfThread;
}

int answer_tool(ControlCommand command, const char* words, os::OutputStream& out) {
  if (!allocator.ensure_open()) return ENOMEM;
  switch (command) {
    case ControlCommand::kStatistics:
      write_statistics(out, strcmp(words, "memory") == 0);
      return 0;
    case ControlCommand::kSettings:
      write_settings(out);
      return 0;
    case ControlCommand::kSet:
      return change_settings(words, out);
    case ControlCommand::kPurge:
      give_back(0, true);
      return 0;
    case ControlCommand::kProfileStart: {
      const int error = allocator.start_profile(distance_in(words));
      if (error == ENOTSUP)
        out.put("it checks its blocks, or trusts sizes (check:on, sized_delete:trust), and cannot profile");
      return error;
    }
    case ControlCommand::kProfileStop:
      allocator.stop_profile();
      return 0;
    case ControlCommand::kProfileWrite: {
      const int error = write_profile(out, SNUG_PROFILE_PPROF);
      if (error == ENODATA) out.put("it has never profiled (snug ctl PID profile on)");
      return error;
    }
    case ControlCommand::kAddress:
      return describe_address(allocator, Life::kRunning, words, out);
  }
  return ENOSYS;
}

}  // namespace snug
