// What compact_access.py counts: ways to an object of a compacting heap, each in a function of its own.
#include "snug/compact_heap.h"

using Step = void (*)(snug::CompactHeap& heap, int* object);

extern "C" {

// Eight instructions, the load and the return.
int checked(snug::CompactHeap& heap, snug::Handle<int> object) { return heap[object]; }

void nothing(snug::CompactHeap& heap, Step step) {
  step(heap, nullptr);
  step(heap, nullptr);
  step(heap, nullptr);
}
void section(snug::CompactHeap& heap, Step step) {
  step(heap, nullptr);
  {
    const snug::Section inside(heap);
    step(heap, nullptr);
  }
  step(heap, nullptr);
}

void nothing_shared(snug::CompactReader& reader, void (*step)(snug::CompactReader&)) {
  step(reader);
  step(reader);
  step(reader);
}
void shared_section(snug::CompactReader& reader, void (*step)(snug::CompactReader&)) {
  step(reader);
  {
    const snug::SharedSection inside(reader);
    step(reader);
  }
  step(reader);
}
// With the loads of the handle, so that the address may take its register, and of the table's address, which stays in
// one where there is more than one access; and the return.
int* unchecked_shared(const snug::SharedSection& inside, const snug::Handle<int>& object) { return inside.get(object); }
// With the load and the return.
int checked_shared(const snug::SharedSection& inside, snug::Handle<int> object) { return *inside.checked(object); }

// What it has more than the one before is an access, and what joins both.
std::uintptr_t one(const snug::Section& inside, snug::Handle<int> a) {
  return reinterpret_cast<std::uintptr_t>(inside.get(a));
}
std::uintptr_t two(const snug::Section& inside, snug::Handle<int> a, snug::Handle<int> b) {
  return reinterpret_cast<std::uintptr_t>(inside.get(a)) + reinterpret_cast<std::uintptr_t>(inside.get(b));
}
}
