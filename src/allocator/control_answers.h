// What a process with publish:on does when a tool asks it (control/control_page.h).
#pragma once

#include "control/control_page.h"
#include "os/output_stream.h"

namespace snug {

// Carries out one request; the answer, or one line that says what is wrong, goes to `out`. 0, or an errno number.
// Thread-safe; the caller holds no lock.
int answer_tool(ControlCommand command, const char* words, os::OutputStream& out);
// The most bytes that such an answer may have.
size_t room_of_answer(ControlCommand command);

}  // namespace snug
