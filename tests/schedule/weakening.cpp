#include "weakening.h"

#include "trace_text.h"

namespace snug::schedule {

namespace {

using Orders = std::vector<std::memory_order>;

Orders next_weaker(Kind kind, std::memory_order order) {
  switch (order) {
    case std::memory_order_seq_cst:
      if (kind == Kind::kLoad) return {std::memory_order_acquire};
      if (kind == Kind::kStore) return {std::memory_order_release};
      return {std::memory_order_acq_rel};
    case std::memory_order_acq_rel:
      return {std::memory_order_acquire, std::memory_order_release};
    case std::memory_order_relaxed:
      return {};
    default:
      return {std::memory_order_relaxed};
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
    return {{place, Kind::kFence, std::memory_order_relaxed, std::memory_order_relaxed}};
  }
  if (place.kind == Kind::kMembarrier) {
    return {{place, Kind::kFence, std::memory_order_seq_cst, std::memory_order_relaxed}};
  }
  std::vector<Weakening> found;
  for (const std::memory_order weaker : next_weaker(place.kind, place.order)) {
    found.push_back({place, place.kind, weaker, place.failure});
  }
  if (place.kind == Kind::kCompareExchange) {
    for (const std::memory_order weaker : next_weaker(Kind::kLoad, place.failure)) {
      found.push_back({place, place.kind, place.order, weaker});
    }
  }
  return found;
}

}  // namespace snug::schedule
