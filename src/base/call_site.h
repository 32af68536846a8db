// CallSite: the function that calls, passed as a default argument: CallSite where = CallSite::current().
#pragma once

namespace snug {

class CallSite {
 public:
  static constexpr CallSite current(const char* function = __builtin_FUNCTION(), const char* file = __builtin_FILE()) {
    return CallSite(function, file);
  }
  // Without its class, and what it takes and returns.
  constexpr const char* function_name() const { return function_; }
  // As it was named to the compiler.
  constexpr const char* file_name() const { return file_; }

 private:
  constexpr CallSite(const char* function, const char* file) : function_(function), file_(file) {}

  const char* function_;
  const char* file_;
};

}  // namespace snug
