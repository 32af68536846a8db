// Runs a whole program in a child process on a fresh heap.
//
// A heap that has failed once is ruined, and a failing program may well crash or hang: only in a process of its own can
// a program be run again and again while it is being cut down. The parent never touches the heap under test.
// The child is forked from a process with one thread, which TSan demands.
#pragma once

#include <functional>

#include "program_runner.h"

namespace snug::model {

// A complaint that names the step, or how the child died.
Complaint run_isolated(const AllocatorUnderTest& allocator, const Program& program, RunOptions options);

// The same for any body that returns a complaint. `seconds` is its time limit.
Complaint run_in_child(const std::function<Complaint(void)>& body, unsigned seconds);

}  // namespace snug::model
