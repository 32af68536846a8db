#include "thread/thread_state.h"

namespace snug {

SNUG_USED constinit thread_local ThreadState thread_state{};

}  // namespace snug
