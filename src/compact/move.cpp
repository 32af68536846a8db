#include "compact/move.h"

#include "base/racing_copy.h"

namespace snug {

void Move::copy(size_t bytes) {
  if (const Relocate relocate = from.page->relocate; relocate != nullptr)
    relocate(from.block(), to.block());
  else
    racing_copy(to.block() + done, from.block() + done, bytes);
  done += bytes;
}

}  // namespace snug
