#include "allocator/reported_mistakes.h"

#include <string.h>

#include "allocator/environment.h"

namespace snug {
namespace {

constexpr char kVariable[] = "SNUG_CONF=";
constexpr char kMark[] = ",!";
constexpr size_t kVariableLength = sizeof kVariable - 1;
constexpr size_t kMarkLength = sizeof kMark - 1;

// The environment refers to this buffer afterwards. It lies in the library, which is never unloaded.
char marked[4096];

}  // namespace

size_t told_length(const char* text) {
  size_t told = 0;
  for (const char* pair = text; pair != nullptr;) {
    const char* const end = strchr(pair, ',');
    const size_t length = end == nullptr ? strlen(pair) : static_cast<size_t>(end - pair);
    if (length == 1 && *pair == '!') told = static_cast<size_t>(pair - text) + 1;
    pair = end == nullptr ? nullptr : end + 1;
  }
  return told;
}

void mark_as_told(const char* text) {
  const size_t length = strlen(text);
  if (length + kVariableLength + kMarkLength >= sizeof marked) return;
  for (char** slot = environment(); slot != nullptr && *slot != nullptr; ++slot) {
    if (*slot + kVariableLength != text) continue;
    // If the text lies in `marked` already, source and destination are the same.
    memmove(marked + kVariableLength, text, length);
    memcpy(marked, kVariable, kVariableLength);
    memcpy(marked + kVariableLength + length, kMark, sizeof kMark);
    *slot = marked;
    return;
  }
}

}  // namespace snug
