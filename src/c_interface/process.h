// What the library does when it is loaded and when the process exits.
#pragma once

namespace snug {

// A reference to this makes the linker take the file with these hooks out of the archive, which no call refers to.
extern const char kProcessHooks;

}  // namespace snug
