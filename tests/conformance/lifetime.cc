// lifetime.cc: a program that allocates before main and after it, and hands blocks from one age to the next.
//
// Order: a constructor with priority, static constructors, main, thread_local and static destructors, atexit handlers,
// a destructor with priority. Each age frees what the one before allocated. Exit status 0 and the line "ages: 7"
// mean that every block came through whole. In the static build subject:: reaches snug, so this runs there too.
#include "pattern.h"
#include "subject.h"

#include <unistd.h>

#include <cstdlib>
#include <thread>

namespace {

constexpr int kSizes = 4;
constexpr std::size_t kSize[kSizes] = {40, 3000, 90000, 2000000};
// Zero-initialised: exists before any constructor has run.
void* handed_on[kSizes];
int ages;

void begin_age() {
  for (int i = 0; i < kSizes; ++i) {
    if (handed_on[i] != nullptr && !pattern::intact(handed_on[i], kSize[i], 1)) _exit(10 + ages);
    subject::free(handed_on[i]);
    handed_on[i] = subject::malloc(kSize[i]);
    if (handed_on[i] == nullptr) _exit(20 + ages);
    pattern::fill(handed_on[i], kSize[i], 1);
  }
  ++ages;
}

[[gnu::constructor(101)]] void before_static_constructors() { begin_age(); }

[[gnu::destructor(101)]] void after_everything() {
  begin_age();
  for (void* block : handed_on) subject::free(block);
  if (ages != 7) _exit(30 + ages);
  const char line[] = "ages: 7\n";
  if (write(1, line, sizeof line - 1) < 0) _exit(40);
}

struct Static {
  Static() { begin_age(); }
  ~Static() { begin_age(); }
} static_object;

struct ThreadLocal {
  ~ThreadLocal() { begin_age(); }
  int touched = 0;
};

thread_local ThreadLocal thread_local_object;

}  // namespace

int main() {
  thread_local_object.touched = 1;
  begin_age();
  std::atexit([] { begin_age(); });
  // A detached thread that is still allocating while the process exits must not be able to hang or crash it.
  std::thread([] {
    for (std::size_t size = 1;; size = size % 5000 + 1) subject::free(subject::malloc(size));
  }).detach();
  return 0;
}
