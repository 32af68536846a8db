// The environment, as the process found it or has it now. Not by getenv(), which an interposer may have replaced.
#pragma once

namespace snug {

// Sets the environment as the dynamic linker passes it to constructors, for the time before libc knows of it.
void tell_environment(char** variables);
bool libc_has_environment();
// Its variables, "NAME=VALUE" each, ended by a null; null if there are none.
char** environment();
// The value of a variable; null if there is none. It points into the environment, until the program changes that. Says
// nothing of privileges, which the caller asks (os/process.h).
const char* environment_value(const char* name);

}  // namespace snug
