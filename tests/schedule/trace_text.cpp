#include "trace_text.h"
#include "base/atomic.h"

#include <cstdio>
#include <cstring>

namespace snug::schedule::trace_text {

namespace {

const char* name_of(Kind kind) {
  switch (kind) {
    case Kind::kLoad:
      return "load";
    case Kind::kStore:
      return "store";
    case Kind::kExchange:
      return "exchange";
    case Kind::kCompareExchange:
      return "compare_exchange";
    case Kind::kFetch:
      return "fetch";
    case Kind::kFence:
      return "fence";
    case Kind::kLightFence:
      return "light_fence";
    case Kind::kMembarrier:
      return "membarrier";
    case Kind::kFork:
      return "fork, and on in the child";
    case Kind::kYield:
      return "cpu_relax";
    case Kind::kPause:
      return "pause";
    case Kind::kFutexWait:
      return "futex_wait";
    case Kind::kFutexWoken:
      return "is woken";
    case Kind::kFutexTimed:
      return "is woken, or its time is up";
    case Kind::kFutexWake:
      return "futex_wake";
  }
  return "?";
}

const char* name_of(MemoryOrder order) {
  switch (order) {
    case kRelaxed:
      return "relaxed";
    case kAcquire:
      return "acquire";
    case kRelease:
      return "release";
    case kAcqRel:
      return "acq_rel";
    case kSeqCst:
      return "seq_cst";
  }
  return "?";
}

bool has_order(Kind kind) { return kind <= Kind::kFence; }
bool has_location(Kind kind) { return kind < Kind::kFence || kind >= Kind::kFutexWait; }

std::string actor(unsigned thread) { return "  thread " + std::to_string(thread) + "  "; }

}  // namespace

std::string number(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, value < 65536 ? "%lu" : "%#lx", static_cast<unsigned long>(value));
  return text;
}

std::string operation(Kind kind, MemoryOrder order, MemoryOrder failure) {
  std::string text = name_of(kind);
  if (!has_order(kind)) return text;
  text = text + "(" + name_of(order);
  if (kind == Kind::kCompareExchange) text = text + ", " + name_of(failure);
  return text + ")";
}

std::string step(unsigned thread, const Operation& operation, const std::string& what) {
  std::string line = actor(thread) + trace_text::operation(operation.kind, operation.order, operation.failure);
  if (has_location(operation.kind)) line += " a" + std::to_string(operation.location);
  if (!what.empty()) line += ": " + what;
  if (line.size() < 60) line.resize(60, ' ');
  const char* const path = operation.where.file_name();
  const char* const slash = std::strrchr(path, '/');
  return line + "  " + (slash != nullptr ? slash + 1 : path) + ":" + std::to_string(operation.where.line()) + "\n";
}

std::string landed(unsigned thread, unsigned location, uint64_t value) {
  return actor(thread) + "  its store to a" + std::to_string(location) + " lands: " + number(value) + "\n";
}

std::string plain(unsigned thread, const char* verb, uint32_t variable, uint64_t value) {
  return actor(thread) + "  " + verb + " v" + std::to_string(variable) + ": " + number(value) + "\n";
}

}  // namespace snug::schedule::trace_text
