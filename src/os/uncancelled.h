// Uncancelled: while one lives the calling thread is not cancelled, whatever it calls. malloc is no point of
// cancellation, but a function of the program's that it calls may be one.
#pragma once

#include <pthread.h>

namespace snug::os {

class Uncancelled {
 public:
  Uncancelled() { ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~Uncancelled() { ::pthread_setcancelstate(before_, nullptr); }
  Uncancelled(const Uncancelled&) = delete;
  Uncancelled& operator=(const Uncancelled&) = delete;

 private:
  int before_ = 0;
};

}  // namespace snug::os
