// CallSite: the function that calls, passed as a default argument: CallSite where = CallSite::current().
#pragma once

namespace snug {

class CallSite {
 public:
  static constexpr CallSite current(const char* function = __builtin_FUNCTION()) { return CallSite(function); }
  // Without what it takes and returns.
  constexpr const char* function_name() const { return function_; }

 private:
  constexpr explicit CallSite(const char* function) : function_(function) {}

  const char* function_;
};

}  // namespace snug
