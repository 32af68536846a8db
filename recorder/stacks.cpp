#include "recorder/stacks.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <sys/types.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "recorder/exported.h"
#include "recorder/known_keys.h"
#include "recorder/libc_features.h"
#include "recorder/mix.h"
#include "recorder/module.h"
#include "recorder/watched.h"

namespace snug::recorder {

constinit bool has_stacks = false;

namespace {

// The most frames of this library, below those of the program.
constexpr std::size_t kMostOwn = 16;

using Unwind = int(void** frames, int most);

// The function of libunwind, or null.
constinit Unwind* quick_unwind = nullptr;
constinit std::uintptr_t own_begin = 0;
constinit std::uintptr_t own_end = 0;
// How many calls of dl_iterate_phdr this thread is inside of.
constinit thread_local unsigned iterations = 0;
constinit KnownKeys<std::size_t{1} << 14> known_stacks;
constinit KnownKeys<std::size_t{1} << 8> known_modules;

// The first frame is that of the allocator's caller.
struct Stack {
  void* room[kMostOwn + kMostFrames];
  void** frames = room;
  std::size_t count = 0;
  std::uint64_t key = 0;
};

bool is_own(const void* address) { return reinterpret_cast<std::uintptr_t>(address) - own_begin < own_end - own_begin; }

// Lives during a call of an unwinder. libunwind reads and writes files to learn what memory there is, which are
// cancellation points; functions of the malloc family have none: a thread cancelled there would leave locks held, and
// blocks that were allocated for its caller and never returned.
class Uncancelled {
 public:
  Uncancelled() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~Uncancelled() { pthread_setcancelstate(before_, nullptr); }
  Uncancelled(const Uncancelled&) = delete;
  Uncancelled& operator=(const Uncancelled&) = delete;

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

// In the child of a fork libunwind's lock may be held for ever by a thread of the parent. libgcc has no lock.
void unwind(Stack& stack, bool is_forked) {
  const InsideAllocator inside;  // what the unwinders allocate or map is not recorded
  const Uncancelled uncancelled;
  Unwind* const function = is_forked || quick_unwind == nullptr ? find_callers : quick_unwind;
  const int found = function(stack.room, static_cast<int>(kMostOwn + kMostFrames));
  void** const end = stack.room + std::max(found, 0);
  while (stack.frames != end && is_own(*stack.frames)) ++stack.frames;
  stack.count = std::min(static_cast<std::size_t>(end - stack.frames), kMostFrames);
  for (std::size_t i = 0; i < stack.count; ++i)
    stack.key = mixed(stack.key ^ reinterpret_cast<std::uintptr_t>(stack.frames[i]));
}

void fill_rest(Ring& ring, std::uint64_t ticket, std::uint64_t first, std::uint64_t second) {
  fill(ring, ticket, 0, kRest, first, second);
}

// Writes a text into slots, sixteen bytes each.
std::uint64_t fill_text(Ring& ring, std::uint64_t ticket, const void* text, std::size_t bytes) {
  const auto* at = static_cast<const char*>(text);
  while (bytes != 0) {
    std::uint64_t words[2] = {};
    const std::size_t part = std::min(bytes, sizeof words);
    memcpy(words, at, part);
    fill_rest(ring, ticket++, words[0], words[1]);
    at += part;
    bytes -= part;
  }
  return ticket;
}

void tell_module(Ring& ring, const Module& module) {
  const char* const path = *module.path != '\0' ? module.path : ring.program;
  const std::size_t path_bytes = strnlen(path, kMostModulePath);
  const std::uint64_t when = when_of(ring, 0);
  std::uint64_t ticket;
  if (!draw(ring, 2 + slots_of_text(module.build_id_bytes) + slots_of_text(path_bytes), ticket)) return;
  fill(ring, ticket++, when, kModule, module.begin, module.end - module.begin);
  fill_rest(ring, ticket++, module.bias, path_bytes << 32 | module.build_id_bytes);
  ticket = fill_text(ring, ticket, module.build_id, module.build_id_bytes);
  fill_text(ring, ticket, path, path_bytes);
}

void tell_new_modules(Ring& ring, const Stack& stack) {
  Module module;
  for (std::size_t i = 0; i < stack.count; ++i) {
    const auto address = reinterpret_cast<std::uintptr_t>(stack.frames[i]);
    if (address - module.begin < module.end - module.begin) continue;  // the module of the frame before
    if (!find_module(stack.frames[i], module)) continue;
    const std::uint64_t key = key_of(module);
    if (known_modules.contains(key, ring.process)) continue;
    tell_module(ring, module);
    known_modules.add(key, ring.process);
  }
}

// Allocations before this have no stack. The first call loads libgcc. The program must not find libunwind's functions
// for exceptions, which have the same names as libgcc's, so libunwind is loaded with local symbols.
[[gnu::constructor]] void prepare() {
  Ring* const ring = ring_of_process();
  if (ring == nullptr || !ring->tells_stacks) return;
  const InsideAllocator inside;
  const ErrnoKeeper keeper;
  Module own;
  void* frame[1];
  if (!find_module(reinterpret_cast<const void*>(&prepare), own) || find_callers(frame, 1) == 0) return;
  if (void* const library = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL); library != nullptr)
    quick_unwind = reinterpret_cast<Unwind*>(dlsym(library, "unw_backtrace"));
  dlerror();  // else the program would see our failure
  own_begin = own.begin;
  own_end = own.end;
  has_stacks = true;
}

}  // namespace

void tell_with_stack(Operation operation, const void* block, std::uint64_t size, std::uint64_t alignment,
                     std::uint8_t refused) {
  if (iterations != 0) return tell_aligned(operation, block, size, alignment, refused);
  Ring* const ring = ring_for_event();
  if (ring == nullptr) return;
  const ErrnoKeeper keeper;
  Stack stack;
  unwind(stack, ring->forked_from != 0);
  const bool is_known = known_stacks.contains(stack.key, ring->process);
  if (!is_known) tell_new_modules(*ring, stack);
  const std::size_t frames = is_known ? 0 : stack.count;
  const bool is_odd = alignment != 0 && !std::has_single_bit(alignment);
  const std::uint64_t when = when_of(*ring, static_cast<std::uint8_t>(refused | mark_of(alignment)));
  std::uint64_t ticket;
  if (!draw(*ring, 1 + (frames + 1) / 2 + 1 + (is_odd ? 1 : 0), ticket)) return;
  fill(*ring, ticket++, when, kStack, stack.key, frames);
  for (std::size_t i = 0; i < frames; i += 2)
    fill_rest(*ring, ticket++, reinterpret_cast<std::uintptr_t>(stack.frames[i]),
              i + 1 < frames ? reinterpret_cast<std::uintptr_t>(stack.frames[i + 1]) : 0);
  fill(*ring, ticket++, when, static_cast<std::uint8_t>(operation), reinterpret_cast<std::uintptr_t>(block), size);
  if (is_odd) fill_rest(*ring, ticket, alignment, 0);
  if (!is_known) known_stacks.add(stack.key, ring->process);
}

// The dynamic linker holds a lock while it calls the program's function. libunwind takes that lock under one of its
// own, so that a thread which holds the first must not wait for the second: allocations of the function are recorded
// without a stack.
extern "C" RECORDER_EXPORT int dl_iterate_phdr(int (*function)(dl_phdr_info*, std::size_t, void*), void* data) {
  if (!has_watched()) return 0;
  ++iterations;
  const int result = watched.dl_iterate_phdr(function, data);
  --iterations;
  return result;
}

}  // namespace snug::recorder
