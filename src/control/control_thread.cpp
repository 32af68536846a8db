#include "control/control_thread.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/memfd.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "base/algorithm.h"
#include "base/bits.h"
#include "base/system_call.h"
#include "os/memory.h"
#include "os/process.h"
#include "os/thread.h"

// Headers have them for _GNU_SOURCE alone.
#ifndef F_ADD_SEALS
#define F_ADD_SEALS 1033
#define F_SEAL_SEAL 1
#define F_SEAL_SHRINK 2
#define F_SEAL_GROW 4
#endif

namespace snug {
namespace {

// The file's number is at least that where so many are allowed: low ones are what programs expect to get themselves.
constexpr long kLeastNumber = 512;
// Some programs have hundreds of KiB of thread-local storage, and answers take more stack than what is given back.
constexpr size_t kStack = size_t{2} << 20;
constexpr long kSeals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW;

// Other processes wait for these words, so that the futex is no private one.
void sleep_while(Atomic<uint32_t>& word, uint32_t value) { system_call(SYS_futex, &word, FUTEX_WAIT, value, nullptr); }
void wake_all(Atomic<uint32_t>& word) { system_call(SYS_futex, &word, FUTEX_WAKE, INT_MAX); }

long make_file() {
  // To make it longer than the process may write would be a signal that ends it.
  if (os::file_size_limit() < ControlPage::kBytes) return -EFBIG;
  const long file = system_call(SYS_memfd_create, ControlPage::kName, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (file < 0) return file;
  const long high = system_call(SYS_fcntl, file, F_DUPFD_CLOEXEC, kLeastNumber);
  if (high < 0) return file;
  system_call(SYS_close, file);
  return high;
}

// Where the machine promises no more memory than it has, a page that is not there yet ends the process as it is
// touched. Kernels that cannot say (before Linux 5.14) are believed to have it.
bool is_there(void* start, size_t bytes) {
  static constinit Atomic<bool> can_say{false};
  const uintptr_t page = round_down(address_of(start), os::page_size());
  if (os::back(at<void>(page), address_of(start) + bytes - page)) {
    can_say.store(true, kRelaxed);
    return true;
  }
  return !can_say.load(kRelaxed);
}

}  // namespace

ControlThread* ControlThread::self = nullptr;

// Null if the OS refuses it.
void* ControlThread::make_shared_page() {
  file_ = make_file();
  if (file_ < 0) return nullptr;
  const bool is_sized = system_call(SYS_ftruncate, file_, ControlPage::kBytes) == 0 &&
                        system_call(SYS_fcntl, file_, F_ADD_SEALS, kSeals) == 0;
  void* const start = is_sized ? os::map_shared(file_, ControlPage::kBytes) : nullptr;
  if (start == nullptr || !is_there(start, ControlPage::kHeaderBytes)) {
    if (start != nullptr) os::release(start, ControlPage::kBytes);
    system_call(SYS_close, file_);
    return nullptr;
  }
  identity_ = os::identity_of(file_);
  return start;
}

// Where no tool may ask, only the thread's own word is needed.
bool ControlThread::make_page() {
  auto* const page =
      static_cast<ControlPage*>(answer_ != nullptr ? make_shared_page() : os::map(os::page_size(), os::page_size()));
  if (page == nullptr) return false;
  page->magic = ControlPage::kMagic;
  page->version = ControlPage::kVersion;
  AtomicRef<uint32_t>(page->pid).store(os::process_id(), kRelease);
  page_.store(page, kRelease);
  return true;
}

// The program may have closed the file, and its number may be another file's by now.
void ControlThread::hide_page() {
  if (answer_ != nullptr && os::identity_of(file_) == identity_) system_call(SYS_close, file_);
}

// No other thread is here.
void ControlThread::drop_page() {
  ControlPage* const page = page_.exchange(nullptr, kAcqRel);
  if (page == nullptr) return;
  os::release(page, answer_ != nullptr ? ControlPage::kBytes : os::page_size());
  hide_page();
}

bool ControlThread::start(bool is_unfiltered) {
  self = this;
  is_unfiltered_ = is_unfiltered;
  return os::start_thread(&thread_, [] { self->live(*self->page_.load(kAcquire)); }, kStack);
}

void ControlThread::dismiss() {
  is_dismissed_.store(true);
  ControlPage* const page = page_.load(kAcquire);
  // In the child of _Fork the page is the parent's.
  if (page == nullptr || page->pid != os::process_id()) return;
  page->requests.fetch_add(1);
  wake_all(page->requests);
}

// The work is noted before the word changes, and the thread reads the word before it looks for work. In the child of
// _Fork or vfork the page is the parent's.
void ControlThread::nudge() {
  ControlPage* const page = page_.load(kAcquire);
  if (page != nullptr && page->pid != os::process_id()) return;
  has_work_.store(true);
  if (page == nullptr) return;
  page->requests.fetch_add(ControlPage::kNudge);
  wake_all(page->requests);
}

// The page is the parent's.
void ControlThread::after_fork_in_child() {
  has_work_.store(false, kRelaxed);
  is_dismissed_.store(false, kRelaxed);
  drop_page();
}

void ControlThread::live(ControlPage& page) {
  os::name_thread("snug-control");
  if (is_unfiltered_) os::leave_real_time();
  for (uint32_t answered = 0;;) {
    const uint32_t word = page.requests.load();
    const uint32_t request = ControlPage::count_of(word);
    if (is_dismissed_.load()) return;
    if (has_work_.exchange(false)) work_();
    if (answer_ == nullptr || request == answered) {
      sleep_while(page.requests, word);
      continue;
    }
    answer_request(page, request);
    answered = request;
  }
}

void ControlThread::answer_request(ControlPage& page, uint32_t request) {
  char words[sizeof page.words];
  memcpy(words, page.words, sizeof words - 1);
  words[sizeof words - 1] = 0;
  const auto command = static_cast<ControlCommand>(page.command.load(kRelaxed));
  char* const place = reinterpret_cast<char*>(&page) + ControlPage::kHeaderBytes;
  const size_t room = min(round_up(room_(command), os::page_size()), ControlPage::kMostAnswer);
  int error = ENOMEM;
  size_t length = 0;
  if (is_there(place, room)) {
    os::OutputStream out(place, room);
    error = answer_(command, words, out);
    const int full = out.flush();
    if (error == 0) error = full;
    length = out.written();
  }
  page.length.store(static_cast<uint32_t>(length), kRelaxed);
  page.error.store(static_cast<uint32_t>(error), kRelaxed);
  page.answers.store(request, kRelease);
  wake_all(page.answers);
}

}  // namespace snug
