#include "weakening.h"

#include "base/atomic.h"
#include "trace_text.h"

namespace snug::schedule {

namespace {

using Orders = std::vector<MemoryOrder>;

Orders next_weaker(Kind kind, MemoryOrder order) {
  switch (order) {
    case kSeqCst:
      if (kind == Kind::kLoad) return {kAcquire};
      if (kind == Kind::kStore) return {kRelease};
      return {kAcqRel};
    case kAcqRel:
      return {kAcquire, kRelease};
    case kRelaxed:
      return {};
    default:
      return {kRelaxed};
  }
}

}  // namespace

Place::Place(const Operation& operation)
    : file(operation.where.file_name()),
      line(operation.where.line()),
      column(operation.where.column()),
      function(bare_name(operation.where.function_name())),
      kind(operation.kind),
      order(operation.order),
      failure(operation.failure) {}

Operation Weakening::applied_to(Operation operation) const {
  operation.kind = kind;
  operation.order = order;
  operation.failure = failure;
  return operation;
}

std::string Weakening::text() const {
  const std::string_view file = place.file.substr(place.file.rfind('/') + 1);
  std::string text(file);
  text += ":" + std::to_string(place.line) + " " + std::string(place.function) + ": ";
  text += trace_text::operation(place.kind, place.order, place.failure);
  return text + " as " + trace_text::operation(kind, order, failure);
}

// What stands before the parameters, without the scopes. GCC writes {anonymous} and Clang (anonymous namespace), which
// is no list of parameters.
std::string_view bare_name(std::string_view function) {
  constexpr std::string_view kAnonymous = "(anonymous namespace)";
  size_t end = function.find('(');
  while (end != function.npos && function.substr(end).starts_with(kAnonymous))
    end = function.find('(', end + kAnonymous.size());
  const std::string_view name = function.substr(0, end);
  return name.substr(name.find_last_of(": ") + 1);
}

std::vector<Weakening> weakenings_of(const Place& place) {
  if (place.kind == Kind::kLightFence) {
    return {{place, Kind::kFence, kRelaxed, kRelaxed}};
  }
  if (place.kind == Kind::kMembarrier) {
    return {{place, Kind::kFence, kSeqCst, kRelaxed}};
  }
  std::vector<Weakening> found;
  for (const MemoryOrder weaker : next_weaker(place.kind, place.order)) {
    found.push_back({place, place.kind, weaker, place.failure});
  }
  if (place.kind == Kind::kCompareExchange) {
    for (const MemoryOrder weaker : next_weaker(Kind::kLoad, place.failure)) {
      found.push_back({place, place.kind, place.order, weaker});
    }
  }
  return found;
}

}  // namespace snug::schedule
