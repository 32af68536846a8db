#include "recorder/recording.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "recorder/watched.h"

namespace snug::recorder {

constinit ProcessPage* process_page = nullptr;
thread_local constinit ThreadState this_thread = {};

namespace {

// What the environment said when the process began. Programs write over theirs, to show a title.
struct Session {
  bool is_known = false;
  pid_t collector = 0;
  char folder[512] = {};
};
constinit Session session;
constinit std::atomic<bool> is_known_to_be_alone = false;  // nobody records

constinit std::atomic<bool> is_session_locked = false;

// Keeps errno, which belongs to the program.
class ErrnoKeeper {
 public:
  ErrnoKeeper() : kept_(errno) {}
  ~ErrnoKeeper() { errno = kept_; }
  ErrnoKeeper(const ErrnoKeeper&) = delete;
  ErrnoKeeper& operator=(const ErrnoKeeper&) = delete;

 private:
  const int kept_;
};

// Without libc's wrapper, which is a point where a thread may be cancelled.
void sleep_microseconds(long microseconds) {
  const timespec time{.tv_sec = 0, .tv_nsec = microseconds * 1000};
  syscall(SYS_nanosleep, &time, nullptr);
}

std::size_t append(char* to, std::size_t at, std::size_t room, const char* text) {
  for (; *text != '\0' && at + 1 < room; ++text) to[at++] = *text;
  to[at] = '\0';
  return at;
}

std::size_t append(char* to, std::size_t at, std::size_t room, std::uint64_t number) {
  char digits[24];
  std::size_t first = sizeof digits - 1;
  digits[first] = '\0';
  do digits[--first] = static_cast<char>('0' + number % 10);
  while ((number /= 10) != 0);
  return append(to, at, room, digits + first);
}

void complain(const char* what, int error) {
  char line[256];
  std::size_t length = append(line, 0, sizeof line, "snug record: process ");
  length = append(line, length, sizeof line, static_cast<std::uint64_t>(getpid()));
  length = append(line, length, sizeof line, " is not recorded: ");
  length = append(line, length, sizeof line, what);
  length = append(line, length, sizeof line, ": ");
  length = append(line, length, sizeof line, strerrordesc_np(error));
  length = append(line, length, sizeof line, "\n");
  static_cast<void>(!syscall(SYS_write, STDERR_FILENO, line, length));
}

// Reads "PROCESS:FOLDER".
void take_session(const char* value) {
  std::uint64_t collector = 0;
  for (; *value >= '0' && *value <= '9'; ++value) collector = collector * 10 + static_cast<std::uint64_t>(*value - '0');
  if (*value != ':' || strlen(value) >= sizeof session.folder) return;
  append(session.folder, 0, sizeof session.folder, value + 1);
  session.collector = static_cast<pid_t>(collector);
  session.is_known = true;
}

// From the kernel's copy of the environment: libc has none yet when the first blocks are asked for. Variables are read
// through a window, of which the end of what was read last is kept.
void read_session() {
  const auto file = static_cast<int>(syscall(SYS_openat, AT_FDCWD, "/proc/self/environ", O_RDONLY | O_CLOEXEC));
  if (file < 0) return;
  char line[1024];
  std::size_t used = 0;
  char bytes[1024];
  for (long length = 0; !session.is_known && (length = syscall(SYS_read, file, bytes, sizeof bytes)) > 0;)
    for (long i = 0; i < length; ++i) {
      if (used < sizeof line) line[used++] = bytes[i];
      if (bytes[i] != '\0') continue;
      const std::size_t name = strlen(kSessionVariable);
      if (used <= sizeof line && used > name && memcmp(line, kSessionVariable, name) == 0 && line[name] == '=')
        take_session(line + name + 1);
      used = 0;
    }
  syscall(SYS_close, file);
}

Ring* map_ring() {
  char path[640];
  int file = -1;
  for (std::uint64_t number = 0; file < 0; ++number) {
    std::size_t length = append(path, 0, sizeof path, session.folder);
    length = append(path, length, sizeof path, "/");
    length = append(path, length, sizeof path, kRingPrefix);
    length = append(path, length, sizeof path, static_cast<std::uint64_t>(getpid()));
    length = append(path, length, sizeof path, ".");
    append(path, length, sizeof path, number);
    file = static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (file < 0 && errno != EEXIST) {
      complain(session.folder, errno);
      return nullptr;
    }
  }
  // Backed at once: a full file system must be told here, not by a signal at some event.
  void* memory = MAP_FAILED;
  if (syscall(SYS_fallocate, file, 0, 0L, static_cast<long>(sizeof(Ring))) == 0)
    memory = mmap(nullptr, sizeof(Ring), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  const int error = errno;
  syscall(SYS_close, file);
  if (memory == MAP_FAILED) {
    syscall(SYS_unlink, path);
    complain(path, error);
    return nullptr;
  }
  madvise(memory, sizeof(Ring), MADV_DONTFORK);
  return static_cast<Ring*>(memory);
}

bool is_paused() {
  char path[640];
  std::size_t length = append(path, 0, sizeof path, session.folder);
  length = append(path, length, sizeof path, "/");
  append(path, length, sizeof path, kPausedFile);
  return syscall(SYS_access, path, F_OK) == 0;
}

pthread_key_t end_of_thread;
constinit bool has_key = false;

// Called once more in each round of destructors, so that those of the program come first.
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
    append(ring.allocator, 0, sizeof ring.allocator, info.dli_fname);
}

// By itself, since a process may have ended before anybody looks at it.
void name_program(Ring& ring) {
  syscall(SYS_readlink, "/proc/self/exe", ring.program, sizeof ring.program - 1);
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
  ring->began = now();
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  ring->began_at = static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
  name_allocator(*ring);
  name_program(*ring);
  ring->state.store(is_paused() ? RingState::kPaused : RingState::kOn, std::memory_order_relaxed);
  ring->tells_sizes.store(parent != 0, std::memory_order_relaxed);
  ring->magic.store(kRingMagic, std::memory_order_release);
  return ring;
}

bool make_process_page() {
  void* const page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return false;
  if (madvise(page, 4096, MADV_WIPEONFORK) != 0) {
    complain("MADV_WIPEONFORK", errno);
    munmap(page, 4096);
    return false;
  }
  has_key = pthread_key_create(&end_of_thread, at_end_of_thread) == 0;
  process_page = static_cast<ProcessPage*>(page);
  return true;
}

// By the thread that comes first. The others wait for it; a signal handler does not come here meanwhile.
Ring* open_ring_once(bool is_first) {
  // What the opening maps is not the program's.
  const InsideAllocator inside;
  if (is_first && !is_session_locked.exchange(true, std::memory_order_acquire)) {
    read_session();
    if (!session.is_known || !make_process_page()) is_known_to_be_alone.store(true, std::memory_order_relaxed);
  }
  if (process_page == nullptr) return nullptr;
  ProcessPage& page = *process_page;
  if (page.is_opening.exchange(1, std::memory_order_acquire) != 0) {
    while (page.ring.load(std::memory_order_acquire) == nullptr && !page.is_refused.load()) sleep_microseconds(100);
    return page.ring.load(std::memory_order_acquire);
  }
  Ring* const ring = begin_ring(is_first ? 0 : getppid());
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
  // The first time the process has one thread: whoever makes a second one has allocated.
  const bool is_first = process_page == nullptr;
  Ring* const ring = open_ring_once(is_first);
  if (is_first && ring != nullptr)
    early_blocks.each([](void* block, std::size_t size) { tell(Operation::kFound, block, size); });
  return ring;
}

void number_thread(Ring& ring) {
  const ErrnoKeeper keeper;
  const auto thread = static_cast<pid_t>(syscall(SYS_gettid));
  const bool has_key_set = this_thread.number != 0;
  this_thread.of = &ring;
  // The dynamic linker sets the first thread's variables once more, when that has already allocated.
  if (thread == getpid() && ring.threads.load(std::memory_order_relaxed) != 0) {
    this_thread.number = 1;
  } else {
    this_thread.number = ring.threads.fetch_add(1, std::memory_order_relaxed) + 1;
    const std::uint64_t when = when_of(ring, 0);
    std::uint64_t ticket;
    if (draw(ring, 1, ticket))
      fill(ring, ticket, when, static_cast<std::uint8_t>(Operation::kThreadBegin), static_cast<std::uint64_t>(thread),
           this_thread.parent);
  }
  const InsideAllocator inside;
  if (has_key && !has_key_set)
    pthread_setspecific(end_of_thread, reinterpret_cast<void*>(std::uintptr_t{PTHREAD_DESTRUCTOR_ITERATIONS}));
}

bool wait_for_room(Ring& ring, std::uint64_t count) {
  const ErrnoKeeper keeper;
  for (unsigned waits = 1; !has_room(ring, ring.next.load(std::memory_order_relaxed), count); ++waits) {
    if (waits % 1024 == 0 && syscall(SYS_kill, session.collector, 0) != 0 && errno == ESRCH)
      ring.state.store(RingState::kAbandoned, std::memory_order_relaxed);
    if (ring.state.load(std::memory_order_relaxed) != RingState::kOn) return false;
    sleep_microseconds(50);
  }
  return ring.state.load(std::memory_order_relaxed) == RingState::kOn;
}

void end_thread() {
  if (this_thread.of == nullptr || this_thread.of != ring_of_process()) return;
  tell(static_cast<std::uint8_t>(Operation::kThreadEnd), 0, 0);
}

}  // namespace snug::recorder
