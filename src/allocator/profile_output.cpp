#include "allocator/profile_output.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>

#include "allocator/allocator.h"
#include "base/atomic.h"
#include "base/fatal.h"
#include "base/in_place.h"
#include "base/lock.h"
#include "base/system_call.h"
#include "base/text.h"
#include "os/clock.h"
#include "os/held_signals.h"
#include "os/process.h"
#include "profile/pprof_file.h"

namespace snug {
namespace {

using OutPath = Text<sizeof(Config::profile_out) + 32>;

// One file is written at a time. In the child of a fork another thread may have held the lock.
struct Output {
  Lock lock;
  uint64_t files = 0;
  bool is_concluded = false;
};
constinit Output output;
constinit Atomic<bool> was_signalled{false};

// The path of this process, as configured, with the process's number and that of the file.
OutPath out_path(uint64_t file) {
  OutPath path;
  bool has_number = false;
  for (const char* c = allocator.config.profile_out; *c != 0; ++c) {
    if (c[0] == '%' && c[1] == 'p') {
      path.add(uint64_t{os::process_id()});
      has_number = true;
      ++c;
    } else if (c[0] == '%' && c[1] == 'n') {
      path.add(file);
      ++c;
    } else {
      path.put(*c);
    }
  }
  if (!has_number) path.put('.').add(uint64_t{os::process_id()});
  return path;
}

}  // namespace

int write_profile(os::OutputStream& out, int format) {
  if (format != SNUG_PROFILE_PPROF && format != SNUG_PROFILE_COLLAPSED) return EINVAL;
  if (!allocator.profile.has_been_on()) return ENODATA;
  HeapProfile::Copy copy;
  if (!allocator.profile.copy(&copy)) return ENOMEM;
  if (format == SNUG_PROFILE_PPROF)
    write_pprof(out, copy, allocator.profile.mean(), os::nanoseconds_since_1970());
  else
    write_collapsed(out, copy);
  allocator.profile.release(copy);
  return out.flush();
}

// Into another file first, so that a reader never finds half a profile.
void write_profile_out() {
  if (allocator.config.profile_out[0] == 0 || !allocator.profile.has_been_on()) return;
  const LockGuard guard(output.lock);
  if (output.is_concluded) return;
  const os::HeldWriteSignals held;
  const OutPath path = out_path(++output.files);
  OutPath draft = path;
  draft.add("~");
  // What is there is an earlier run's, or another user's: a link that would be followed, a file that others may read.
  system_call(SYS_unlinkat, AT_FDCWD, draft.data(), 0);
  const long file = system_call(SYS_openat, AT_FDCWD, draft.data(),
                                O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, 0600);
  os::OutputStream out(file);
  long error = file < 0 ? -file : write_profile(out, SNUG_PROFILE_PPROF);
  if (file >= 0) system_call(SYS_close, file);
  if (error == 0) error = -system_call(SYS_renameat, AT_FDCWD, draft.data(), AT_FDCWD, path.data());
  if (error == 0) return;
  if (file >= 0) system_call(SYS_unlinkat, AT_FDCWD, draft.data(), 0);
  Text<sizeof(Config::profile_out) + 128> line;
  line.add("snug: cannot write the heap profile to ").add_printable(path.data(), path.size());
  line.add(": error ").add(static_cast<uint64_t>(error)).add("\n");
  write_line(line.data(), line.size());
}

// What the control thread begins now would be half a file.
void conclude_profile_out() {
  write_profile_out();
  const LockGuard guard(output.lock);
  output.is_concluded = true;
}

void write_profile_as_told() {
  if (was_signalled.exchange(false) && !allocator.profile.has_been_on()) {
    constexpr char kLine[] = "snug: profile_signal: there is no heap profile to write: it has never been on\n";
    write_line(kLine, sizeof kLine - 1);
  }
  write_profile_out();
}

void tell_of_profile_signal() {
  was_signalled.store(true, kRelaxed);
  allocator.control.nudge();
}

void forget_profiles_written() {
  ::new (InPlace{&output}) Output;
  was_signalled.store(false, kRelaxed);
}

}  // namespace snug
