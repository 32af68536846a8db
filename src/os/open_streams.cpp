#include "os/open_streams.h"

#include "base/compiler.h"

extern "C" {
SNUG_WEAK_IMPORT void _IO_list_lock();
SNUG_WEAK_IMPORT void _IO_list_unlock();
SNUG_WEAK_IMPORT void _IO_list_resetlock();
}

namespace snug::os {
namespace {

// True if libc has all three functions.
bool are_known() { return &_IO_list_lock != nullptr && &_IO_list_unlock != nullptr && &_IO_list_resetlock != nullptr; }

}  // namespace

void OpenStreams::lock() {
  if (are_known()) _IO_list_lock();
}

void OpenStreams::unlock() {
  if (are_known()) _IO_list_unlock();
}

void OpenStreams::reset() {
  if (are_known()) _IO_list_resetlock();
}

}  // namespace snug::os
