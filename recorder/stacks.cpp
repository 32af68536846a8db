#include "recorder/stacks.h"

#include <link.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <iterator>

#include "recorder/exported.h"
#include "recorder/known_keys.h"
#include "recorder/mix.h"
#include "recorder/module.h"
#include "recorder/watched.h"
#include "unwind/known_rules.h"
#include "unwind/stack_walk.h"

namespace snug::recorder {

constinit bool has_stacks = false;
constinit std::atomic<std::uint64_t> unmappings = 0;

namespace {

// The most frames of this library, below those of the program.
constexpr std::size_t kMostOwn = 16;
// Odd, without a pattern in its bits: by it a key is multiplied for each frame.
constexpr std::uint64_t kSpread = 0x9e3779b97f4a7c15;

constinit std::uintptr_t own_begin = 0;
constinit std::uintptr_t own_end = 0;
constinit unwind::KnownRules<15> known_rules;
// How often libraries have gone, as libc counts it: keys are mixed with it, as an address may mean something else
// behind.
constinit std::atomic<std::uint64_t> unloads = 0;
constinit KnownKeys<std::size_t{1} << 14> known_stacks;
constinit KnownKeys<std::size_t{1} << 8> known_modules;

// Return addresses, of which the first is in the allocator's caller.
struct Stack {
  std::uintptr_t room[kMostOwn + kMostFrames];
  std::uintptr_t* frames = room;
  std::size_t count = 0;
  std::uint64_t key = 0;
};

bool is_own(std::uintptr_t address) { return address - own_begin < own_end - own_begin; }

// `frame` is that of one of this library's functions.
void walk(Stack& stack, const void* frame) {
  const unwind::Walked walked = unwind::walk_stack(frame, stack.room, std::size(stack.room), known_rules,
                                                   unmappings.load(std::memory_order_relaxed));
  for (std::size_t i = 0; i != walked.count; ++i) ++stack.room[i];  // from the last byte of each call
  std::uintptr_t* const end = stack.room + walked.count;
  while (stack.frames != end && is_own(*stack.frames)) ++stack.frames;
  stack.count = std::min(static_cast<std::size_t>(end - stack.frames), kMostFrames);
  stack.key = mixed(unloads.load(std::memory_order_relaxed));
  for (std::size_t i = 0; i < stack.count; ++i) stack.key = std::rotl((stack.key ^ stack.frames[i]) * kSpread, 32);
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
    const std::uintptr_t address = stack.frames[i];
    if (address - module.begin < module.end - module.begin) continue;  // the module of the frame before
    if (!find_module(reinterpret_cast<const void*>(address), module)) continue;
    const std::uint64_t key = key_of(module) ^ mixed(unloads.load(std::memory_order_relaxed));
    if (known_modules.contains(key, ring.process)) continue;
    tell_module(ring, module);
    known_modules.add(key, ring.process);
  }
}

// Allocations before this have no stack.
[[gnu::constructor]] void prepare() {
  Ring* const ring = ring_of_process();
  if (ring == nullptr || !ring->tells_stacks) return;
  Module own;
  if (!find_module(reinterpret_cast<const void*>(&prepare), own)) return;
  own_begin = own.begin;
  own_end = own.end;
  has_stacks = true;
}

}  // namespace

void tell_with_stack(Operation operation, const void* block, std::uint64_t size, std::uint64_t alignment,
                     std::uint8_t refused) {
  Ring* const ring = ring_for_event();
  if (ring == nullptr) return;
  const ErrnoKeeper keeper;
  Stack stack;
  walk(stack, __builtin_frame_address(0));
  const bool is_known = known_stacks.contains(stack.key, ring->process);
  if (!is_known) tell_new_modules(*ring, stack);
  const std::size_t frames = is_known ? 0 : stack.count;
  const bool is_odd = alignment != 0 && !std::has_single_bit(alignment);
  const std::uint64_t when = when_of(*ring, static_cast<std::uint8_t>(refused | mark_of(alignment)));
  std::uint64_t ticket;
  if (!draw(*ring, 1 + (frames + 1) / 2 + 1 + (is_odd ? 1 : 0), ticket)) return;
  fill(*ring, ticket++, when, kStack, stack.key, frames);
  for (std::size_t i = 0; i < frames; i += 2)
    fill_rest(*ring, ticket++, stack.frames[i], i + 1 < frames ? stack.frames[i + 1] : 0);
  fill(*ring, ticket++, when, static_cast<std::uint8_t>(operation), reinterpret_cast<std::uintptr_t>(block), size);
  if (is_odd) fill_rest(*ring, ticket, alignment, 0);
  if (!is_known) known_stacks.add(stack.key, ring->process);
}

// Other code may come to the place of what goes.
extern "C" RECORDER_EXPORT int dlclose(void* library) {
  if (!has_watched()) return -1;
  const int result = watched.dlclose(library);
  if (!has_stacks) return result;
  std::uint64_t gone = 0;
  const auto count = [](dl_phdr_info* info, std::size_t, void* sum) {
    *static_cast<std::uint64_t*>(sum) = info->dlpi_subs;
    return 1;
  };
  dl_iterate_phdr(count, &gone);
  if (unloads.exchange(gone, std::memory_order_relaxed) == gone) return result;
  unmappings.fetch_add(1, std::memory_order_relaxed);
  known_rules.forget();
  return result;
}

}  // namespace snug::recorder
