// What the library does when it is loaded and when the process exits.
#pragma once

namespace snug {

// Refers to the file that holds these hooks, which no call does: without it a linker would leave them in the archive.
extern const char kProcessHooks;

}  // namespace snug
