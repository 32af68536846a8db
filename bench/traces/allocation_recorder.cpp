// allocation_recorder: writes down what a program allocates and frees, in the order in which it happens, in the line
// format that `snug classes fit` and bench/seeds/s2_traces read (tools/classes/allocation_trace.h):
//
//   a <TAB> key <TAB> bytes      malloc, calloc, memalign and their kin; the key is the address, hexadecimal
//   f <TAB> key                  free
//   r <TAB> old <TAB> key <TAB> bytes     realloc of a block
//
//   SNUG_TRACE=job.trace LD_PRELOAD=…/liballocation_recorder.so ./job
//
// One process is recorded: the variable is taken out of the environment, so that programs which it starts are not, and
// a child that it forks is not. "%p" in the name asks for them: it becomes the process' number, the variable stays, and
// each program that is executed writes a trace of its own. A process that replaces itself by exec loses what is
// buffered.
//
// Blocks come from glibc's malloc, by the names that need no dlsym, since that would allocate. Alignments are not
// recorded. One lock is held over each call with its event, so that no two threads' events are in the wrong order. What
// is called before there is an environment to look into is buffered until the constructor runs.
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

extern "C" {
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* block, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void* block);
}

namespace {

constexpr size_t kBufferBytes = size_t{1} << 20;
constexpr size_t kLongestLine = 64;

enum class State {
  kBuffering,    // nobody has looked whether there is a file
  kRecording,    // whenever the buffer is full it is written
  kWritingEach,  // after the destructor: whatever is still freed is written at once
  kOff
};

class Recorder {
 public:
  void lock() { pthread_mutex_lock(&mutex_); }
  void unlock() { pthread_mutex_unlock(&mutex_); }

  void allocated(const void* block, size_t bytes) { event('a', block, nullptr, bytes); }
  void freed(const void* block) { event('f', block, nullptr, 0); }
  void reallocated(const void* old, const void* block, size_t bytes) { event('r', old, block, bytes); }

  void start() {
    const char* const wanted = getenv("SNUG_TRACE");
    if (wanted == nullptr || *wanted == '\0') {
      state_ = State::kOff;
      return;
    }
    char path[4096];
    expand(wanted, path, sizeof path);
    complaints_ = out_of_the_way(STDERR_FILENO);
    const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0) refuse(path, errno);
    file_ = out_of_the_way(file);
    close(file);
    if (strstr(wanted, "%p") == nullptr) unsetenv("SNUG_TRACE");
    owner_ = getpid();
    state_ = State::kRecording;
  }

  void flush() {
    // A child that came by a system call of its own has a copy of the buffer, and no right to it.
    if (state_ == State::kOff || getpid() != owner_) return;
    for (size_t at = 0; at < used_;) {
      const ssize_t written = write(file_, buffer_ + at, used_ - at);
      if (written < 0 && errno != EINTR) refuse("the trace", errno);
      if (written > 0) at += static_cast<size_t>(written);
    }
    used_ = 0;
  }

  void end() {
    if (state_ != State::kRecording) return;
    flush();
    state_ = State::kWritingEach;
  }

  void forget() { state_ = State::kOff; }

 private:
  void event(char kind, const void* first, const void* second, size_t bytes) {
    if (state_ == State::kOff) return;
    if (used_ + kLongestLine > kBufferBytes) make_room();
    if (state_ == State::kOff) return;
    put(kind);
    put_hex(first);
    if (second != nullptr) put_hex(second);
    if (kind != 'f') put_decimal(bytes);
    put('\n');
    if (state_ == State::kWritingEach) flush();
  }

  void make_room() {
    if (state_ == State::kBuffering) start();
    flush();
  }

  void put(char character) { buffer_[used_++] = character; }
  void put_hex(const void* key) {
    const auto value = reinterpret_cast<uintptr_t>(key);
    put('\t');
    int shift = 60;
    while (shift > 0 && (value >> shift) == 0) shift -= 4;
    for (; shift >= 0; shift -= 4) put("0123456789abcdef"[value >> shift & 15]);
  }
  void put_decimal(size_t value) {
    char digits[24];
    size_t count = 0;
    do digits[count++] = static_cast<char>('0' + value % 10);
    while ((value /= 10) != 0);
    put('\t');
    while (count != 0) put(digits[--count]);
  }

  // A copy where programs close no descriptors: many close their standard error before they end.
  static int out_of_the_way(int descriptor) {
    constexpr int kHigh = 200;
    const int copy = fcntl(descriptor, F_DUPFD_CLOEXEC, kHigh);
    return copy >= 0 ? copy : fcntl(descriptor, F_DUPFD_CLOEXEC, 3);
  }

  // The name with %p as the process' number.
  void expand(const char* wanted, char* path, size_t room) const {
    size_t used = 0;
    for (const char* at = wanted; *at != '\0'; ++at) {
      if (used + 24 > room) refuse(wanted, ENAMETOOLONG);
      if (at[0] != '%' || at[1] != 'p') {
        path[used++] = *at;
        continue;
      }
      char digits[24];
      size_t count = 0;
      for (pid_t left = getpid(); left != 0; left /= 10) digits[count++] = static_cast<char>('0' + left % 10);
      while (count != 0) path[used++] = digits[--count];
      ++at;
    }
    path[used] = '\0';
  }

  // Without stdio, which allocates.
  [[noreturn]] void refuse(const char* what, int error) const {
    const char* const words[] = {"allocation_recorder: cannot write ", what, ": ", strerrordesc_np(error), "\n"};
    char line[4400];
    size_t used = 0;
    for (const char* word : words) {
      const size_t length = strlen(word);
      if (used + length > sizeof line) break;
      memcpy(line + used, word, length);
      used += length;
    }
    static_cast<void>(!write(complaints_, line, used));
    syscall(SYS_exit_group, 2);
    __builtin_unreachable();
  }

  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  State state_ = State::kBuffering;
  int file_ = -1;
  int complaints_ = STDERR_FILENO;
  pid_t owner_ = 0;
  size_t used_ = 0;
  char buffer_[kBufferBytes] = {};
};

constinit Recorder recorder;

class Held {
 public:
  Held() { recorder.lock(); }
  ~Held() { recorder.unlock(); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
};

void* allocate_aligned(size_t alignment, size_t bytes) {
  const Held held;
  void* const block = __libc_memalign(alignment, bytes);
  if (block != nullptr) recorder.allocated(block, bytes);
  return block;
}

size_t os_page() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

[[gnu::constructor]] void begin() {
  recorder.lock();
  recorder.start();
  recorder.unlock();
  pthread_atfork([] { recorder.lock(); }, [] { recorder.unlock(); },
                 [] {
                   recorder.forget();
                   recorder.unlock();
                 });
}

[[gnu::destructor]] void end() {
  const Held held;
  recorder.end();
}

}  // namespace

#define RECORDED extern "C" [[gnu::visibility("default")]]

RECORDED void* malloc(size_t bytes) {
  const Held held;
  void* const block = __libc_malloc(bytes);
  if (block != nullptr) recorder.allocated(block, bytes);
  return block;
}

RECORDED void* calloc(size_t count, size_t bytes) {
  const Held held;
  void* const block = __libc_calloc(count, bytes);
  if (block != nullptr) recorder.allocated(block, count * bytes);
  return block;
}

RECORDED void free(void* block) {
  if (block == nullptr) return;
  const Held held;
  recorder.freed(block);
  __libc_free(block);
}

RECORDED void* realloc(void* old, size_t bytes) {
  const Held held;
  void* const block = __libc_realloc(old, bytes);
  if (block != nullptr && old != nullptr)
    recorder.reallocated(old, block, bytes);
  else if (block != nullptr)
    recorder.allocated(block, bytes);
  else if (old != nullptr && bytes == 0)
    recorder.freed(old);
  return block;
}

RECORDED void* reallocarray(void* old, size_t count, size_t bytes) {
  size_t whole = 0;
  if (__builtin_mul_overflow(count, bytes, &whole)) {
    errno = ENOMEM;
    return nullptr;
  }
  return realloc(old, whole);
}

RECORDED void* memalign(size_t alignment, size_t bytes) { return allocate_aligned(alignment, bytes); }
RECORDED void* aligned_alloc(size_t alignment, size_t bytes) { return allocate_aligned(alignment, bytes); }
RECORDED void* valloc(size_t bytes) { return allocate_aligned(os_page(), bytes); }
RECORDED void* pvalloc(size_t bytes) {
  const size_t page = os_page();
  return allocate_aligned(page, (bytes + page - 1) / page * page);
}

RECORDED int posix_memalign(void** result, size_t alignment, size_t bytes) {
  if (alignment % sizeof(void*) != 0 || alignment == 0 || (alignment & (alignment - 1)) != 0) return EINVAL;
  const int before = errno;
  void* const block = allocate_aligned(alignment, bytes);
  errno = before;
  if (block == nullptr) return ENOMEM;
  *result = block;
  return 0;
}

// The ends of a process that run no destructors.
RECORDED void _exit(int status) {
  {
    const Held held;
    recorder.flush();
  }
  syscall(SYS_exit_group, status);
  __builtin_unreachable();
}
RECORDED void _Exit(int status) { _exit(status); }
