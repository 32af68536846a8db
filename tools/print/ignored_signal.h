// IgnoredSignal: while it lives, the tool ignores the signal.
#pragma once

#include <csignal>

namespace snug::tool {

class IgnoredSignal {
 public:
  explicit IgnoredSignal(int signal) : signal_(signal), before_(std::signal(signal, SIG_IGN)) {}
  ~IgnoredSignal() { std::signal(signal_, before_); }
  IgnoredSignal(const IgnoredSignal&) = delete;
  IgnoredSignal& operator=(const IgnoredSignal&) = delete;

 private:
  int signal_;
  void (*before_)(int);
};

}  // namespace snug::tool
