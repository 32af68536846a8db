// use_after_free.h: what doors.cpp does at each door: blocks of kWords words come and go, and one that was freed is
// used as the command line says.
#pragma once

#include <cstddef>
#include <cstdio>
#include <utility>
#include <vector>

constexpr size_t kWords = 6;  // of what each door is asked for
struct Object {
  volatile long words[kWords];
};

enum class Act { kNone, kReadFirst, kReadLast, kWriteFirst, kWriteLast };
inline Act act = Act::kNone;

// The compiler does not know that it was freed.
inline void use_after_free(void* freed) {
  void* volatile hidden = freed;
  volatile long* const words = static_cast<Object*>(hidden)->words;
  switch (act) {
    case Act::kNone:
      break;
    case Act::kReadFirst:
      if (words[0] == 1) std::puts("1");
      break;
    case Act::kReadLast:
      if (words[kWords - 1] == 1) std::puts("1");
      break;
    case Act::kWriteFirst:
      words[0] = 1;
      break;
    case Act::kWriteLast:
      words[kWords - 1] = 1;
      break;
  }
}

// Blocks come and go for a while; then one that is free is used.
template <class Take, class Give>
void go_through(Take take, Give give) {
  std::vector<void*> live;
  const auto add = [&] {
    void* const block = take();
    for (size_t i = 0; i < kWords; ++i) static_cast<Object*>(block)->words[i] = static_cast<long>(i);
    live.push_back(block);
  };
  for (unsigned round = 0; round < 3; ++round) {
    for (unsigned i = 0; i < 300; ++i) add();
    for (size_t i = 0; i < live.size(); i += 2) std::swap(live[i], live[live.size() - 1 - i]);
    for (unsigned i = 0; i < 250; ++i) {
      for (size_t word = 0; word < kWords; ++word) {
        if (static_cast<Object*>(live.back())->words[word] != static_cast<long>(word)) std::puts("written over");
      }
      give(live.back());
      live.pop_back();
    }
  }
  void* const freed = live[live.size() / 2];
  live.erase(live.begin() + static_cast<std::ptrdiff_t>(live.size() / 2));
  give(freed);
  use_after_free(freed);
  for (void* const block : live) give(block);
}
