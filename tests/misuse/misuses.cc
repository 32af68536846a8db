// misuses.cc: the misuses of docs/misuse.md, each a small program's mistake, to be committed on any allocator.
//
// misuses NAME commits one. It then goes on as such a program would: allocates, looks whether what it owns is its own,
// and frees that. Standard output says how far it came: "committed" once the misuse has been survived, then "harmless",
// or "harm" if two owners have got one block, or a block that is owned has changed. Without a name it
// lists the library that malloc comes from, and the misuses.
//
// misuses NAME drawn misuses a block that check:sample has drawn, if it draws blocks of that size.
#include <dlfcn.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstring>
#include <thread>

#include "misuse.h"

namespace {

constexpr size_t kSmall = 100;
constexpr size_t kLarge = size_t{1} << 20;

void say(const char* word) {
  if (write(1, word, strlen(word)) != static_cast<ssize_t>(strlen(word))) _exit(99);
}

bool harm = false;
void note_harm(bool happened) { harm = harm || happened; }

// Whether nothing can be read on the page of the address. The kernel reads there before it refuses the order, which is
// none.
bool is_out_of_reach(uintptr_t address) {
  const uintptr_t page = address / 4096 * 4096;
  return syscall(SYS_rt_sigprocmask, -1, page, nullptr, 8) != 0 && errno == EFAULT;
}

// A guarded page has nothing readable on either side.
bool is_guarded(const void* block) {
  const auto address = reinterpret_cast<uintptr_t>(block);
  return is_out_of_reach(address - 4096) && is_out_of_reach(address + 4096);
}

bool wants_drawn = false;

// What allocate() gives, to be misused: where drawn blocks are wanted, the first of 32 MiB of them that is guarded.
template <class Allocate>
auto drawn(size_t size, Allocate allocate) {
  auto* block = allocate();
  for (size_t i = 0; wants_drawn && !is_guarded(block) && i != (size_t{32} << 20) / size; ++i)
    block = static_cast<decltype(block)>(hidden(allocate()));
  return block;
}

char* take_any(size_t size) { return static_cast<char*>(hidden(malloc(size))); }
char* take(size_t size) {
  return drawn(size, [size] { return take_any(size); });
}
void give(void* block) { free(hidden(block)); }

// A block with an owner that fills it, and finds its contents unchanged at the end.
class Owned {
 public:
  explicit Owned(size_t size, void* (*allocate)(size_t) = malloc)
      : block_(static_cast<char*>(allocate(size))), size_(size) {
    fill_ = ++last_fill_;
    memset(block_, fill_, size_);
  }
  void check() const {
    for (size_t i = 0; i < size_; ++i) note_harm(static_cast<unsigned char>(block_[i]) != fill_);
  }
  char* get() const { return block_; }
  void check_and_free() {
    check();
    give(block_);
  }

 private:
  static inline unsigned char last_fill_ = 0;
  char* block_;
  size_t size_;
  unsigned char fill_;
};

// What a program does next: two more blocks of that size.
void go_on(size_t size) {
  Owned one(size), other(size);
  one.check_and_free();
  other.check_and_free();
}

void free_twice(size_t size) {
  char* block = take(size);
  give(block);
  give(block);
  say("committed\n");
  go_on(size);
}

void double_free() { free_twice(kSmall); }
void double_free_10k() { free_twice(10 << 10); }
void double_free_100k() { free_twice(100 << 10); }
void double_free_1m() { free_twice(kLarge); }

void double_free_after_another() {
  char* block = take(kSmall);
  char* other = take_any(kSmall);
  give(block);
  give(other);
  give(block);
  say("committed\n");
  Owned first(kSmall), second(kSmall), third(kSmall);
  first.check_and_free();
  second.check_and_free();
  third.check_and_free();
}

// The second free takes the block away from its next owner.
void free_another_owners(size_t size) {
  char* block = take(size);
  give(block);
  Owned next(size);
  give(block);
  say("committed\n");
  Owned last(size);
  next.check_and_free();
  last.check_and_free();
}

void double_free_handed_out() { free_another_owners(kSmall); }
void double_free_1m_handed_out() { free_another_owners(kLarge); }

void double_free_late() {
  static char* blocks[300];
  for (char*& block : blocks) block = &block == blocks + 150 ? take(kSmall) : take_any(kSmall);
  for (char* block : blocks) give(block);
  give(blocks[150]);
  say("committed\n");
  go_on(kSmall);
}

void double_free_across_threads() {
  char* block = take(kSmall);
  std::thread([block] { give(block); }).join();
  give(block);
  say("committed\n");
  go_on(kSmall);
}

void free_of_stack() {
  alignas(16) char variable[256] = "";
  give(variable + 16);
  say("committed\n");
  go_on(kSmall);
}

void free_of_static() {
  alignas(16) static char variable[256];
  give(variable + 16);
  say("committed\n");
  go_on(kSmall);
}

void free_inside(size_t size, size_t offset) {
  char* block = take(size);
  memset(block, 0, size);
  give(block + offset);
  say("committed\n");
  go_on(size);
}

void free_inside_16() { free_inside(kSmall, 16); }
void free_inside_8() { free_inside(kSmall, 8); }
void free_inside_large() { free_inside(kLarge, 4096); }

// The pointer has outlived the block.
void free_inside_late() {
  static char* blocks[300];
  for (char*& block : blocks) memset(block = &block == blocks + 150 ? take(kSmall) : take_any(kSmall), 0, kSmall);
  for (char* block : blocks) give(block);
  give(blocks[150] + 16);
  say("committed\n");
  go_on(kSmall);
}

// A program that aligns a block by hand must remember where it began.
void free_hand_aligned() {
  char* block = take(1000 + 64);
  memset(block, 0, 1000 + 64);
  give(block + 64 - reinterpret_cast<uintptr_t>(block) % 64);
  say("committed\n");
  go_on(1000 + 64);
}

// Writes to `count` bytes from `from` on, counted from the end of what one of three neighbours has.
void write_beyond(ptrdiff_t from, size_t count) {
  Owned before(kSmall), block(kSmall, [](size_t size) { return static_cast<void*>(take(size)); }), after(kSmall);
  memset(static_cast<char*>(hidden(block.get())) + from, 0xff, count);
  say("committed\n");
  before.check_and_free();
  block.check_and_free();
  after.check_and_free();
  go_on(kSmall);
}

ptrdiff_t usable() {
  void* block = take_any(kSmall);
  const auto size = static_cast<ptrdiff_t>(malloc_usable_size(block));
  give(block);
  return size;
}

void overflow_by_one() { write_beyond(usable(), 1); }
void overflow_into_neighbour() { write_beyond(usable(), 32); }
void underflow() { write_beyond(-8, 8); }

void write_after_free(size_t size) {
  char* block = take(size);
  give(block);
  memset(hidden(block), 0xff, size);
  say("committed\n");
  Owned one(size, [](size_t bytes) {
    auto* zeroed = static_cast<char*>(calloc(1, bytes));
    for (size_t i = 0; i < bytes; ++i) note_harm(zeroed[i] != 0);
    return static_cast<void*>(zeroed);
  });
  Owned other(size);
  one.check_and_free();
  other.check_and_free();
}

void write_after_free_small() { write_after_free(kSmall); }
void write_after_free_1m() { write_after_free(kLarge); }

// Makes longer what is no block of the caller's any more, or none at all.
void lengthen(void* block, size_t size) {
  auto* longer = static_cast<char*>(realloc(hidden(block), size));
  say("committed\n");
  Owned other(size);
  note_harm(longer == other.get());
  other.check_and_free();
  give(longer);
  go_on(kSmall);
}

void realloc_of_freed() {
  char* block = take(kSmall);
  char* other = take_any(kSmall);
  give(block);
  give(other);
  lengthen(block, 500);
}

void realloc_inside() {
  char* block = take(kSmall);
  memset(block, 0, kSmall);
  lengthen(block + 16, 500);
}

struct Plain {
  int values[10];
};
struct WithDestructor {
  ~WithDestructor() { hidden(this); }
  int values[10];
};

void new_and_free() {
  give(drawn(sizeof(Plain), [] { return new Plain; }));
  say("committed\n");
  go_on(sizeof(Plain));
}

void malloc_and_delete() {
  delete reinterpret_cast<Plain*>(take(sizeof(Plain)));
  say("committed\n");
  go_on(sizeof(Plain));
}

template <class T>
void new_array_and_delete() {
  delete static_cast<T*>(hidden(drawn(10 * sizeof(T), [] { return new T[10]; })));
  say("committed\n");
  go_on(10 * sizeof(T));
}

void delete_with_size(size_t size, size_t told) {
  operator delete(hidden(drawn(size, [size] { return operator new(size); })), told);
  say("committed\n");
  go_on(size);
  go_on(told);
}

void delete_too_small() { delete_with_size(500, 16); }
void delete_too_large() { delete_with_size(16, 500); }

struct Misuse {
  const char* name;
  const char* words;
  void (*commit)();
};

// The rows of docs/misuse.md.
constexpr Misuse kMisuses[] = {
    {"double_free", "`free` twice, at once", double_free},
    {"double_free_after_another", "`free` twice, with another `free` between", double_free_after_another},
    {"double_free_handed_out", "`free` again of a block that has a new owner", double_free_handed_out},
    {"double_free_late", "`free` twice, with 149 others between", double_free_late},
    {"double_free_10k", "`free` twice, 10 KiB", double_free_10k},
    {"double_free_100k", "`free` twice, 100 KiB", double_free_100k},
    {"double_free_1m", "`free` twice, 1 MiB", double_free_1m},
    {"double_free_1m_handed_out", "`free` again of 1 MiB that has a new owner", double_free_1m_handed_out},
    {"double_free_across_threads", "`free` twice, by two threads", double_free_across_threads},
    {"free_of_stack", "`free` of a variable on the stack", free_of_stack},
    {"free_of_static", "`free` of a static variable", free_of_static},
    {"free_inside_16", "`free` of a pointer 16 bytes into a block", free_inside_16},
    {"free_inside_8", "`free` of a pointer 8 bytes into a block", free_inside_8},
    {"free_inside_late", "`free` of a pointer into a block that is free", free_inside_late},
    {"free_inside_large", "`free` of a pointer into a block of 1 MiB", free_inside_large},
    {"free_hand_aligned", "`free` of a pointer that was aligned by hand", free_hand_aligned},
    {"overflow_by_one", "write of one byte beyond the end", overflow_by_one},
    {"overflow_into_neighbour", "write of 32 bytes beyond the end", overflow_into_neighbour},
    {"underflow", "write of 8 bytes before the start", underflow},
    {"write_after_free", "write after `free`, 100 bytes", write_after_free_small},
    {"write_after_free_1m", "write after `free`, 1 MiB", write_after_free_1m},
    {"realloc_of_freed", "`realloc` of a block that is free", realloc_of_freed},
    {"realloc_inside", "`realloc` of a pointer into a block", realloc_inside},
    {"new_and_free", "`new`, then `free`", new_and_free},
    {"malloc_and_delete", "`malloc`, then `delete`", malloc_and_delete},
    {"new_array_and_delete_destructor", "`new[]`, then `delete`, with a destructor",
     new_array_and_delete<WithDestructor>},
    {"new_array_and_delete", "`new[]`, then `delete`, without one", new_array_and_delete<Plain>},
    {"delete_too_small", "`delete` with too small a size", delete_too_small},
    {"delete_too_large", "`delete` with too large a size", delete_too_large},
};

}  // namespace

int main(int argc, char** argv) {
  Dl_info info;
  if (argc == 1) printf("%s\n", dladdr(dlsym(RTLD_DEFAULT, "malloc"), &info) != 0 ? info.dli_fname : "?");
  for (const Misuse& misuse : kMisuses) {
    if (argc == 1) printf("%s\t%s\n", misuse.name, misuse.words);
    if (argc == 1 || strcmp(argv[1], misuse.name) != 0) continue;
    wants_drawn = argc == 3 && strcmp(argv[2], "drawn") == 0;
    misuse.commit();
    say(harm ? "harm\n" : "harmless\n");
    return 0;
  }
  return argc == 1 ? 0 : 2;
}
