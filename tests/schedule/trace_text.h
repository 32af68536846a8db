// The lines of a trace: one for each step of a run, in order. Atomics and plain variables are numbered as they were
// made.
#pragma once

#include <cstdint>
#include <string>

#include "base/atomic.h"
#include "operation.h"

namespace snug::schedule::trace_text {

std::string number(uint64_t value);
// "load(acquire)", "compare_exchange(acq_rel, relaxed)"
std::string operation(Kind kind, MemoryOrder order, MemoryOrder failure);
// "  thread 1  load(acquire) a3: 5    mailbox.h:41"
std::string step(unsigned thread, const Operation& operation, const std::string& what);
std::string landed(unsigned thread, unsigned location, uint64_t value);
std::string plain(unsigned thread, const char* verb, uint32_t variable, uint64_t value);

}  // namespace snug::schedule::trace_text
