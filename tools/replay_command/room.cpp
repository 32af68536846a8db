#include "replay_command/room.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "print/quantity.h"
#include "text/user_error.h"

namespace snug::tool {

// Where what the recorded program had touched is written, the samples of its heap tell how much that was, on a larger
// machine perhaps; no more than what lives.
void Room::expect(const Window& window, std::uint64_t live) {
  recorded_ = std::max(recorded_, window.recorded_heap.value_or(0));
  if (options_.touch != replayer::Touch::kAll || available_ == 0) return;
  const bool writes_all = options_.told_from == UINT64_MAX;
  const std::uint64_t written = writes_all ? live : std::min(live, recorded_);
  if (written <= available_) return;
  throw UserError(fmt::format("snug replay: {} {}, more than the {} available: --touch first writes less",
                              value_text(static_cast<double>(written), kBytes),
                              writes_all ? "live at once" : "of heap were in memory when it was recorded",
                              value_text(static_cast<double>(available_), kBytes)),
                  EXIT_FAILURE);
}

}  // namespace snug::tool
