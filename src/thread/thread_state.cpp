#include "thread/thread_state.h"

namespace snug {

SNUG_USED SNUG_INITIAL_EXEC constinit thread_local ThreadState thread_state{};

}  // namespace snug
