#include "thread/thread_state.h"

#include <array>
#include <utility>

namespace snug {
namespace {

// Read as the sentinel, never written: top == limit wherever it is used.
constinit void* no_blocks[1] = {nullptr};

template <size_t... Class>
constexpr ThreadState state_without_cache(std::index_sequence<Class...>) {
  ThreadState state{{((void)Class, CacheHead{no_blocks, no_blocks})...}, {}, false, 0, 0, nullptr};
  for (size_t step = 0; step < kSmallSteps; ++step) state.small[step] = kRoomyTable.small[step];
  return state;
}

}  // namespace

SNUG_USED constinit thread_local ThreadState thread_state = state_without_cache(std::make_index_sequence<kMaxClasses>());

void reset_heads(ThreadState& state) {
  for (CacheHead& head : state.heads) {
    store_shared(head.limit, no_blocks);
    store_shared(head.top, no_blocks);
  }
}

}  // namespace snug
