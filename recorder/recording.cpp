#include "recorder/recording.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "recorder/error_text.h"
#include "recorder/loader_memory.h"
#include "recorder/session.h"
#include "recorder/watched.h"

namespace snug::recorder {

constinit ProcessPage* process_page = nullptr;
thread_local constinit ThreadState this_thread = {};

namespace {

constinit std::atomic<bool> is_known_to_be_alone = false;  // there is no `snug record`

constinit std::atomic<bool> is_session_locked = false;

// In a child of a fork, before its first event: the process that forked it, or the nearest ancestor that had an event.
// The kernel may name another parent by then.
constinit pid_t last_process = 0;

// Not by libc's wrapper, which is a cancellation point.
void sleep_microseconds(long microseconds) {
  const timespec time{.tv_sec = 0, .tv_nsec = microseconds * 1000};
  syscall(SYS_nanosleep, &time, nullptr);
}

// Asks first whether `snug record` runs: a daemon and its children outlive the recording, and still have its variable.
Ring* map_ring() {
  if (is_collector_elsewhere()) {
    complain("snug record", "it runs in another PID namespace");
    return nullptr;
  }
  if (is_collector_gone()) return nullptr;
  SessionPath& path = process_page->ring_path;
  int file = -1;
  for (std::uint64_t number = 0; file < 0; ++number) {
    path = path_of_ring(static_cast<std::uint64_t>(getpid()), number);
    file = static_cast<int>(syscall(SYS_openat, AT_FDCWD, path.text, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (file < 0 && errno != EEXIST) {
      complain_as_lost(session_folder(), error_text(errno));
      return nullptr;
    }
  }
  // Backed at once: a full file system must show here, not by a signal at some event. Nor by one here: beyond the limit
  // on the length of files the kernel sends one.
  void* memory = MAP_FAILED;
  rlimit longest{};
  getrlimit(RLIMIT_FSIZE, &longest);
  if (longest.rlim_cur < sizeof(Ring))
    errno = EFBIG;
  else if (syscall(SYS_fallocate, file, 0, 0L, static_cast<long>(sizeof(Ring))) == 0)
    memory = mmap(nullptr, sizeof(Ring), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  const int error = errno;
  syscall(SYS_close, file);
  if (memory == MAP_FAILED) {
    syscall(SYS_unlinkat, AT_FDCWD, path.text, 0);
    complain_as_lost(path.text, error_text(error));
    return nullptr;
  }
  madvise(memory, sizeof(Ring), MADV_DONTFORK);
  return static_cast<Ring*>(memory);
}

pthread_key_t end_of_thread;
constinit bool has_key = false;

// Sets itself again in each round of destructors, so that those of the program run first.
void at_end_of_thread(void* rounds_left) {
  const auto left = reinterpret_cast<std::uintptr_t>(rounds_left);
  if (left > 1)
    pthread_setspecific(end_of_thread, reinterpret_cast<void*>(left - 1));
  else
    end_thread();
}

void name_allocator(Ring& ring) {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(watched.malloc), &info) != 0 && info.dli_fname != nullptr)
    memcpy(ring.allocator, info.dli_fname, strnlen(info.dli_fname, sizeof ring.allocator - 1));
}

// The process itself writes its name, since it may have ended before `snug record` looks at it.
void name_program(Ring& ring) {
  syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", ring.program, sizeof ring.program - 1);
  struct stat status{};
  if (syscall(SYS_newfstatat, AT_FDCWD, "/proc/self/exe", &status, 0) == 0) {
    ring.program_device = status.st_dev;
    ring.program_number = status.st_ino;
  }
  const auto file = static_cast<int>(syscall(SYS_openat, AT_FDCWD, "/proc/self/cmdline", O_RDONLY | O_CLOEXEC));
  if (file < 0) return;
  std::size_t used = 0;
  for (long length = 1; length > 0 && used < sizeof ring.arguments - 1; used += static_cast<std::size_t>(length)) {
    length = syscall(SYS_read, file, ring.arguments + used, sizeof ring.arguments - 1 - used);
    if (length < 0) length = 0;
  }
  syscall(SYS_close, file);
}

// `parent`: the process that forked this one.
Ring* begin_ring(pid_t parent) {
  Ring* const ring = map_ring();
  if (ring == nullptr) return nullptr;
  ring->process = static_cast<std::uint32_t>(getpid());
  ring->forked_from = static_cast<std::uint32_t>(parent);
  ring->began = read_nanoseconds();
  ring->began_ticks = read_ticks();
  ring->counts_ticks = kHasTicks && session_asks_for(kAsksForTicks);
  ring->tells_stacks = session_asks_for(kAsksForStacks);
  ring->has_mallinfo = watched.has_mallinfo;
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  ring->began_at = static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
  name_allocator(*ring);
  name_program(*ring);
  ring->state.store(is_session_paused() ? RingState::kPaused : RingState::kOn, std::memory_order_relaxed);
  ring->has_forked.store(parent != 0, std::memory_order_relaxed);
  ring->tells_sizes.store(parent != 0, std::memory_order_relaxed);
  ring->threads.store(1, std::memory_order_relaxed);
  ring->magic.store(kRingMagic, std::memory_order_release);
  return ring;
}

// For a ring that `snug record` has not read and never will: unlinks its file, which would stay in the folder for ever.
void abandon(Ring& ring) {
  ring.state.store(RingState::kAbandoned, std::memory_order_relaxed);
  syscall(SYS_unlinkat, AT_FDCWD, process_page->ring_path.text, 0);
}

bool make_process_page() {
  void* const page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return false;
  if (madvise(page, 4096, MADV_WIPEONFORK) != 0) {
    complain_as_lost("MADV_WIPEONFORK", error_text(errno));
    munmap(page, 4096);
    return false;
  }
  has_key = pthread_key_create(&end_of_thread, at_end_of_thread) == 0;
  process_page = static_cast<ProcessPage*>(page);
  return true;
}

// The first thread opens the ring. The others wait for it; a signal handler does not come here meanwhile.
Ring* open_ring_once(bool is_first) {
  // Mappings made here do not count as the program's.
  const InsideAllocator inside;
  if (is_first && !is_session_locked.exchange(true, std::memory_order_acquire)) {
    read_session();
    if (!has_session() || !make_process_page()) is_known_to_be_alone.store(true, std::memory_order_relaxed);
  }
  if (process_page == nullptr) return nullptr;
  ProcessPage& page = *process_page;
  if (page.is_opening.exchange(1, std::memory_order_acquire) != 0) {
    while (page.ring.load(std::memory_order_acquire) == nullptr && !page.is_refused.load()) sleep_microseconds(100);
    return page.ring.load(std::memory_order_acquire);
  }
  Ring* const ring = begin_ring(is_first ? 0 : last_process);
  last_process = getpid();
  if (ring == nullptr) page.is_refused.store(true, std::memory_order_relaxed);
  this_thread.of = nullptr;
  page.ring.store(ring, std::memory_order_release);
  return ring;
}

}  // namespace

Ring* open_ring() {
  if (is_known_to_be_alone.load(std::memory_order_relaxed)) return nullptr;
  if (process_page != nullptr && process_page->is_refused.load(std::memory_order_relaxed)) return nullptr;
  if (!has_watched()) return nullptr;
  const ErrnoKeeper keeper;
  // The first time the process has one thread, as a thread allocates before it starts a second one.
  const bool is_first = process_page == nullptr;
  Ring* const ring = open_ring_once(is_first);
  if (is_first && ring != nullptr) {
    tell_loader_memory();
    early_blocks.each([](void* block, std::size_t size) { tell(Operation::kFound, block, size); });
  }
  return ring;
}

namespace {

// 0 if there are no more numbers: a larger one would not fit beside the ticket in the head of a slot.
std::uint32_t next_number(Ring& ring) {
  std::uint32_t given = ring.threads.load(std::memory_order_relaxed);
  while (given < kMostThread)
    if (ring.threads.compare_exchange_weak(given, given + 1, std::memory_order_relaxed)) return given + 1;
  return 0;
}

}  // namespace

void number_thread(Ring& ring) {
  const ErrnoKeeper keeper;
  const auto thread = static_cast<pid_t>(syscall(SYS_gettid));
  const bool has_key_set = this_thread.number != 0;
  const bool is_first = thread == getpid();
  // The dynamic linker sets the first thread's variables once more, when that has already allocated. It may also come
  // after others, if the recording was stopped before.
  const bool has_begun = is_first && process_page->has_first_begun.exchange(true, std::memory_order_relaxed);
  const std::uint32_t number = is_first ? 1 : next_number(ring);
  if (number == 0) {
    ++this_thread.depth;  // for ever: the thread records nothing
    return;
  }
  this_thread.number = number;
  // Otherwise a signal handler between the two stores could record under a number of another ring.
  std::atomic_signal_fence(std::memory_order_seq_cst);
  this_thread.of = &ring;
  const std::uint64_t when = when_of(ring, 0);
  std::uint64_t ticket;
  if (!has_begun && draw(ring, 1, ticket))
    fill(ring, ticket, when, static_cast<std::uint8_t>(Operation::kThreadBegin), static_cast<std::uint64_t>(thread),
         this_thread.parent);
  const InsideAllocator inside;
  if (has_key && !has_key_set)
    pthread_setspecific(end_of_thread, reinterpret_cast<void*>(std::uintptr_t{PTHREAD_DESTRUCTOR_ITERATIONS}));
}

bool wait_for_room(Ring& ring, std::uint64_t count) {
  const ErrnoKeeper keeper;
  for (unsigned waits = 1; !has_room(ring, ring.next.load(std::memory_order_relaxed), count); ++waits) {
    if (waits % 1024 == 0 && is_collector_gone()) abandon(ring);
    if (!is_telling(ring.state.load(std::memory_order_relaxed))) return false;
    sleep_microseconds(50);
  }
  return is_telling(ring.state.load(std::memory_order_relaxed));
}

void tell_slowly(std::uint8_t operation, std::uint64_t address, std::uint64_t size, std::uint8_t mark) {
  Ring* const ring = ring_for_event();
  if (ring == nullptr) return;
  const std::uint64_t when = when_of(*ring, mark);
  std::uint64_t ticket;
  if (draw(*ring, 1, ticket)) fill(*ring, ticket, when, operation, address, size);
}

bool tells_when_not_on(const Ring* ring) {
  if (ring == nullptr) return false;
  const RingState state = ring->state.load(std::memory_order_relaxed);
  if (state == RingState::kAsked) this_thread.is_asked = true;
  return is_telling(state);
}

void end_thread() {
  if (this_thread.of == nullptr || this_thread.of != ring_of_process()) return;
  tell(static_cast<std::uint8_t>(Operation::kThreadEnd), 0, 0);
}

}  // namespace snug::recorder
