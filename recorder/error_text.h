// The text of an error of the system, without a translation, for which libc might allocate.
#pragma once

namespace snug::recorder {

// glibc's strerrordesc_np, of 2.32: null on an older one, and on musl.
extern "C" [[gnu::weak]] const char* describe_error_number(int error) asm("strerrordesc_np");

inline const char* error_text(int error) {
  return describe_error_number != nullptr ? describe_error_number(error) : "the system refused";
}

}  // namespace snug::recorder
