// A run on snug that ends with snug's own statistics of each process, on standard error.
#pragma once

#include "print/output_file.h"
#include "process/child_process.h"
#include "run/process_table.h"

namespace snug::tool {

// Runs `command` and prints the report; to `json` too, unless that is null, a list of what each process said, the one
// that allocated most first. Signals that ask a program to stop or to act are passed on to it. Returns its exit status,
// or ends the tool by the signal that ended the program.
int run_with_report(Command command, ProcessRows rows, OutputFile* json);

}  // namespace snug::tool
