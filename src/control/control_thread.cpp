#include "control/control_thread.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/memfd.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "base/bits.h"
#include "base/system_call.h"
#include "os/memory.h"
#include "os/process.h"
#include "os/thread.h"

// Headers have them for _GNU_SOURCE alone.
#ifndef F_ADD_SEALS
#define F_ADD_SEALS 1033
#define F_GET_SEALS 1034
#define F_SEAL_SEAL 1
#define F_SEAL_SHRINK 2
#define F_SEAL_GROW 4
#endif

namespace snug {
namespace {

// The file's number is at least that where so many are allowed: low ones are what programs expect to get themselves.
constexpr long kLeastNumber = 512;
constexpr long kSeals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW;

void close_file(long file) { system_call(SYS_close, file); }

// Other processes wait for these words, so that the futex is no private one.
void sleep_while(Atomic<uint32_t>& word, uint32_t value) { system_call(SYS_futex, &word, FUTEX_WAIT, value, nullptr); }
void wake_all(Atomic<uint32_t>& word) { system_call(SYS_futex, &word, FUTEX_WAKE, INT_MAX); }

long make_file() {
  const long file = system_call(SYS_memfd_create, ControlPage::kName, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (file < 0) return file;
  const long high = system_call(SYS_fcntl, file, F_DUPFD_CLOEXEC, kLeastNumber);
  if (high < 0) return file;
  close_file(file);
  return high;
}

}  // namespace

ControlThread* ControlThread::self = nullptr;

void ControlThread::start() {
  if (!is_wanted() || !make_page()) return;
  self = this;
  if (!os::start_thread(&thread_, [] { self->live(); })) drop_page();
}

bool ControlThread::make_page() {
  file_ = make_file();
  if (file_ < 0) return false;
  const bool is_sized = system_call(SYS_ftruncate, file_, ControlPage::kBytes) == 0 &&
                        system_call(SYS_fcntl, file_, F_ADD_SEALS, kSeals) == 0;
  void* const start = is_sized ? os::map_shared(file_, ControlPage::kBytes) : nullptr;
  if (start == nullptr) {
    close_file(file_);
    return false;
  }
  page_ = static_cast<ControlPage*>(start);
  page_->magic = ControlPage::kMagic;
  page_->version = ControlPage::kVersion;
  AtomicRef<uint32_t>(page_->pid).store(os::process_id(), kRelease);
  return true;
}

// The program may have closed the file, and its number may be another file's by now.
void ControlThread::drop_page() {
  os::release(page_, ControlPage::kBytes);
  page_ = nullptr;
  if (system_call(SYS_fcntl, file_, F_GET_SEALS) == kSeals) close_file(file_);
}

void ControlThread::dismiss() {
  is_dismissed_.store(true, kRelaxed);
  if (page_ == nullptr) return;
  page_->requests.fetch_add(1);
  wake_all(page_->requests);
}

// The page is the parent's.
void ControlThread::after_fork_in_child() {
  is_dismissed_.store(false, kRelaxed);
  if (page_ != nullptr) drop_page();
}

void ControlThread::live() {
  os::name_thread("snug-control");
  for (uint32_t answered = 0; !is_dismissed_.load(kRelaxed);) {
    const uint32_t request = page_->requests.load(kAcquire);
    if (request == answered) {
      sleep_while(page_->requests, request);
      continue;
    }
    answer_request(request);
    answered = request;
  }
}

void ControlThread::answer_request(uint32_t request) {
  char words[sizeof page_->words];
  memcpy(words, page_->words, sizeof words - 1);
  words[sizeof words - 1] = 0;
  const auto command = static_cast<ControlCommand>(page_->command.load(kRelaxed));
  os::OutputStream out(reinterpret_cast<char*>(page_) + ControlPage::kHeaderBytes, ControlPage::kMostAnswer);
  const int error = answer_(command, words, out);
  const int full = out.flush();
  page_->length.store(static_cast<uint32_t>(out.written()), kRelaxed);
  page_->error.store(static_cast<uint32_t>(error != 0 ? error : full), kRelaxed);
  page_->answers.store(request, kRelease);
  wake_all(page_->answers);
}

}  // namespace snug
