// replaced.cc: a program replaces two forms of operator new and operator delete, those that REPLACES names,
// and calls all others. C++ defines which of them must reach the replaced ones, on any malloc: a block of the program's
// own starts inside one of malloc's, and any other way into malloc would damage both.
//
// Says how many blocks it looked at, how many of them were its own, and how many were wrong.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <new>

namespace {

using Size = std::size_t;
using std::align_val_t;
using std::nothrow;

constexpr Size kAlignment = 64;
constexpr std::uint64_t kLive = 0x736e7567206f7773, kDead = ~kLive;
int created = 0, released = 0, wrong = 0;
bool may_throw = false;  // the next creation does

// A block of the program's: behind a head of 64 bytes, in the last of which it says that it lives.
void* create(Size size) {
  if (may_throw) throw std::bad_alloc();
  auto* whole = static_cast<char*>(
      std::aligned_alloc(kAlignment, (kAlignment + size + kAlignment - 1) / kAlignment * kAlignment));
  if (whole == nullptr) std::abort();
  std::memcpy(whole + kAlignment - sizeof kLive, &kLive, sizeof kLive);
  ++created;
  return whole + kAlignment;
}
bool is_own(const void* block) {
  std::uint64_t word = 0;
  std::memcpy(&word, static_cast<const char*>(block) - sizeof word, sizeof word);
  return word == kLive;
}
void release(void* block) {
  if (block == nullptr) return;
  wrong += !is_own(block);
  std::memcpy(static_cast<char*>(block) - sizeof kDead, &kDead, sizeof kDead);
  ++released;
  std::free(static_cast<char*>(block) - kAlignment);
}

enum Family { kOne, kArray, kAligned, kArrayAligned };

// What is defined by the replaced forms, directly or by way of others.
bool reaches_replaced(Family family) {
  switch (REPLACES) {
    case kOne:
      return family == kOne || family == kArray;
    case kAligned:
      return family == kAligned || family == kArrayAligned;
    default:
      return family == REPLACES;
  }
}

constexpr align_val_t kTo{kAlignment};

struct NewForm {
  Family family;
  bool throws;
  void* (*create)(Size);
};
constexpr NewForm kNewForms[] = {
    {kOne, true, [](Size size) { return ::operator new(size); }},
    {kOne, false, [](Size size) { return ::operator new(size, nothrow); }},
    {kArray, true, [](Size size) { return ::operator new[](size); }},
    {kArray, false, [](Size size) { return ::operator new[](size, nothrow); }},
    {kAligned, true, [](Size size) { return ::operator new(size, kTo); }},
    {kAligned, false, [](Size size) { return ::operator new(size, kTo, nothrow); }},
    {kArrayAligned, true, [](Size size) { return ::operator new[](size, kTo); }},
    {kArrayAligned, false, [](Size size) { return ::operator new[](size, kTo, nothrow); }},
};

struct DeleteForm {
  Family family;
  void (*release)(void*, Size);
};
constexpr DeleteForm kDeleteForms[] = {
    {kOne, [](void* block, Size) { ::operator delete(block); }},
    {kOne, [](void* block, Size size) { ::operator delete(block, size); }},
    {kOne, [](void* block, Size) { ::operator delete(block, nothrow); }},
    {kArray, [](void* block, Size) { ::operator delete[](block); }},
    {kArray, [](void* block, Size size) { ::operator delete[](block, size); }},
    {kArray, [](void* block, Size) { ::operator delete[](block, nothrow); }},
    {kAligned, [](void* block, Size) { ::operator delete(block, kTo); }},
    {kAligned, [](void* block, Size size) { ::operator delete(block, size, kTo); }},
    {kAligned, [](void* block, Size) { ::operator delete(block, kTo, nothrow); }},
    {kArrayAligned, [](void* block, Size) { ::operator delete[](block, kTo); }},
    {kArrayAligned, [](void* block, Size size) { ::operator delete[](block, size, kTo); }},
    {kArrayAligned, [](void* block, Size) { ::operator delete[](block, kTo, nothrow); }},
};

// Two blocks at a time, so that one that is handed out twice is seen.
void pass_through(const NewForm& creates, const DeleteForm& releases, Size size) {
  const int own = reaches_replaced(creates.family) ? 1 : 0;
  const int created_before = created, released_before = released;
  void* blocks[2];
  for (int i = 0; i < 2; ++i) std::memset(blocks[i] = creates.create(size), i, size);
  wrong += created - created_before != 2 * own;
  for (int i = 0; i < 2; ++i) {
    for (Size byte = 0; byte < size; ++byte) wrong += static_cast<unsigned char*>(blocks[i])[byte] != i;
    releases.release(blocks[i], size);
  }
  wrong += released - released_before != 2 * own;
}

// A form that must not throw returns null where the form that it calls throws.
void refuse(const NewForm& creates) {
  if (creates.throws || !reaches_replaced(creates.family)) return;
  may_throw = true;
  wrong += creates.create(100) != nullptr;
  may_throw = false;
}

}  // namespace

#if REPLACES == 0
void* operator new(Size size) { return create(size); }
void operator delete(void* block) noexcept { release(block); }
#elif REPLACES == 1
void* operator new[](Size size) { return create(size); }
void operator delete[](void* block) noexcept { release(block); }
#elif REPLACES == 2
void* operator new(Size size, align_val_t) { return create(size); }
void operator delete(void* block, align_val_t) noexcept { release(block); }
#else
void* operator new[](Size size, align_val_t) { return create(size); }
void operator delete[](void* block, align_val_t) noexcept { release(block); }
#endif

int main() {
  int looked_at = 0;
  const int created_before = created;
  for (const NewForm& creates : kNewForms) {
    for (const DeleteForm& releases : kDeleteForms)
      for (const Size size : {1, 16, 100, 1000, 5000, 60000, 200000, 3000000})
        if (releases.family == creates.family) {
          pass_through(creates, releases, size);
          looked_at += 2;
        }
    refuse(creates);
  }
  std::printf("looked at %d, own %d, wrong %d\n", looked_at, created - created_before, wrong);
  return wrong != 0;
}
