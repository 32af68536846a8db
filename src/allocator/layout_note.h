// LayoutNote: by it a tool that reads a process's memory, of a core file say, finds the allocator there, and learns
// whether it has the records that the tool knows. It is a part of the allocator, so that it is written into each core
// that has the allocator, however that is linked.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "checked/call_stack.h"
#include "checked/guarded_pages.h"
#include "checked/quarantine.h"
#include "checked/stack_depot.h"
#include "heap/heap_slab.h"
#include "heap/region_map.h"
#include "heap/user_heaps.h"
#include "profile/call_tree.h"
#include "profile/heap_profile.h"
#include "size/class_table.h"
#include "slab/heap_registry.h"
#include "snug/snug.h"
#include "span/mapped_block.h"
#include "span/mapping_store.h"
#include "span/page_map.h"
#include "span/span_stores.h"
#include "thread/thread_cache.h"
#include "thread/thread_state.h"

namespace snug {

struct Allocator;

// A number that stands for the layout of every record which answers of addresses read: a build of another version, or
// with other records or assertions, has another. A change of what a field means, in a record that keeps its length,
// takes a new first number.
constexpr uint64_t layout_of_records(size_t allocator_bytes) {
  constexpr uint64_t kMeaning = 1;
#ifdef NDEBUG
  constexpr size_t kAsserts = 0;
#else
  constexpr size_t kAsserts = 1;
#endif
  const size_t lengths[] = {allocator_bytes,
                            kAsserts,
                            kPageSize,
                            kMaxClasses,
                            kMaxBlocksPerSlab,
                            sizeof(ClassTable),
                            sizeof(PageMap),
                            sizeof(PageEntry),
                            sizeof(Chunk),
                            sizeof(Span),
                            sizeof(SpanStores),
                            sizeof(MetaArena),
                            sizeof(MetaArena::Link),
                            sizeof(LargeIndex),
                            sizeof(MappedBlock),
                            sizeof(MappingStore),
                            sizeof(Slab),
                            sizeof(SlabRemoteFrees),
                            sizeof(SlabHeap),
                            sizeof(HeapRegistry),
                            sizeof(ThreadCache),
                            sizeof(ThreadState),
                            sizeof(UserHeap),
                            sizeof(UserCache),
                            sizeof(HeapLarge),
                            sizeof(UserHeaps),
                            sizeof(HeapSlab),
                            sizeof(RegionMap::Leaf),
                            sizeof(Sample),
                            sizeof(HeapProfile),
                            sizeof(HeapProfile::State),
                            sizeof(HeapProfile::Site),
                            sizeof(CallTree::Node),
                            sizeof(Quarantine),
                            sizeof(Quarantine::Batch),
                            sizeof(Rested),
                            sizeof(GuardedPages),
                            sizeof(GuardedPages::Slot),
                            CallStack::kMost,
                            SNUG_VERSION_MAJOR,
                            SNUG_VERSION_MINOR,
                            SNUG_VERSION_PATCH};
  // Fowler, Noll and Vo's hash, 1a, by words.
  uint64_t hash = 0xcbf29ce484222325 ^ kMeaning;
  for (const size_t length : lengths) hash = (hash ^ length) * 0x100000001b3;
  return hash;
}

struct LayoutNote {
  static constexpr char kMagic[16] = "snug allocator";

  constexpr LayoutNote(const Allocator* its, uint64_t its_layout) : allocator(its), layout(its_layout) {}

  char magic[sizeof kMagic] = {'s', 'n', 'u', 'g', ' ', 'a', 'l', 'l', 'o', 'c', 'a', 't', 'o', 'r'};
  const LayoutNote* self = this;  // a copy of the note somewhere else is none
  const Allocator* allocator;
  uint64_t layout;
  uint32_t version[3] = {SNUG_VERSION_MAJOR, SNUG_VERSION_MINOR, SNUG_VERSION_PATCH};
  // Constants, which may be missing in a core.
  const ClassTable* tables[2] = {&kRoomyTable, &kDenseTable};
};

}  // namespace snug
