#include "heap_runner.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <map>
#include <optional>
#include <ostream>
#include <sstream>
#include <utility>

#include <snug/heap.h>

#include "block_pattern.h"

namespace snug::model {

namespace {

constexpr const char* kNames[] = {"create",    "destroy",      "malloc",       "calloc", "aligned_alloc",
                                  "realloc",   "heap_realloc", "plain malloc", "free",   "batch",
                                  "free some", "trim",         "visit"};

constexpr int kOfMalloc = -1;

// Side by side, and of an odd number of units, so that what is recorded of two regions shares words.
constexpr size_t kRegionBytes = 257 * SNUG_HEAP_REGION_UNIT;
alignas(SNUG_HEAP_REGION_UNIT) char regions[kHeaps][kRegionBytes];

struct Known {
  int heap = kOfMalloc;
  size_t size = 0;  // bytes that were written
  size_t usable = 0;
  uint64_t seed = 0;
};

// Invariant: blocks_ holds exactly the live blocks; places_[i].blocks and .bytes count those of heap i.
class HeapRunner {
 public:
  Complaint run(const HeapProgram& program) {
    for (size_t i = 0; i < program.size(); ++i) {
      Complaint complaint = take(program[i]);
      if (!complaint) complaint = check(program[i].heap);
      if (complaint) return at(i, program[i]) + *complaint;
    }
    return end();
  }

 private:
  struct Place {
    snug_heap* heap = nullptr;
    size_t limit = 0;
    bool must_be_empty = false;
    const char* region = nullptr;
    size_t blocks = 0;
    size_t bytes = 0;
    uint64_t peak = 0;
  };

  static std::string at(size_t step, const HeapOperation& operation) {
    std::ostringstream out;
    out << "step " << step << " (" << operation << "): ";
    return out.str();
  }

  Complaint take(const HeapOperation& operation) {
    errno = 0;
    if (operation.step == HeapStep::kCreate) return recreate(operation);
    Place& place = places_[operation.heap];
    if (operation.step == HeapStep::kDestroy) return destroy(place, operation.heap);
    if (place.heap == nullptr) {
      if (Complaint complaint = create(place, {})) return complaint;
    }
    const int heap = static_cast<int>(operation.heap);
    switch (operation.step) {
      case HeapStep::kMalloc:
        return add(heap, snug_heap_malloc(place.heap, operation.size), operation.size, 16);
      case HeapStep::kPlainMalloc:
        return add(kOfMalloc, snug_malloc(operation.size), operation.size, 16);
      case HeapStep::kCalloc: {
        void* const block = snug_heap_calloc(place.heap, 1, operation.size);
        if (block != nullptr && find_nonzero(block, operation.size)) return "calloc is not zeroed";
        return add(heap, block, operation.size, 16);
      }
      case HeapStep::kAlignedAlloc: {
        const size_t alignment = size_t{1} << operation.shift;
        return add(heap, snug_heap_aligned_alloc(place.heap, alignment, operation.size), operation.size, alignment);
      }
      case HeapStep::kRealloc:
        return resize(operation, std::nullopt);
      case HeapStep::kHeapRealloc:
        return resize(operation, heap);
      case HeapStep::kFree:
        return blocks_.empty() ? std::nullopt : free_block(chosen(operation.pick));
      case HeapStep::kFreeSome:
        return free_some(operation);
      case HeapStep::kBatch:
        return batch(operation);
      case HeapStep::kTrim:
        return trim(place);
      case HeapStep::kVisit:
        return visit(place, heap);
      default:
        return std::nullopt;
    }
  }

  // ---- heaps

  Complaint recreate(const HeapOperation& operation) {
    Place& place = places_[operation.heap];
    if (Complaint complaint = destroy(place, operation.heap)) return complaint;
    if (place.heap != nullptr) return std::nullopt;  // it was not empty, and must be
    return create(place, operation);
  }

  Complaint create(Place& place, const HeapOperation& operation) {
    snug_heap_options options{};
    options.size = sizeof options;
    options.name = "model";
    options.limit = operation.limit;
    options.flags = operation.must_be_empty ? SNUG_HEAP_MUST_BE_EMPTY : 0;
    if (operation.in_region) {
      options.region = regions[&place - places_.data()];
      options.region_bytes = kRegionBytes;
    }
    snug_heap* const heap = snug_heap_create(&options);
    if (heap == nullptr) return "create returned null";
    size_t limit = operation.limit;
    if (operation.in_region) limit = limit == 0 ? kRegionBytes : std::min(limit, kRegionBytes);
    place = {heap, limit, operation.must_be_empty, static_cast<const char*>(options.region), 0, 0, 0};
    return std::nullopt;
  }

  Complaint destroy(Place& place, unsigned index) {
    if (place.heap == nullptr) return std::nullopt;
    const int result = snug_heap_destroy(place.heap);
    if (place.must_be_empty && place.blocks != 0)
      return result == EBUSY ? std::nullopt : Complaint("destroy did not find blocks in use");
    if (result != 0) return "destroy returned " + std::to_string(result);
    std::erase_if(blocks_, [index](const auto& entry) { return entry.second.heap == static_cast<int>(index); });
    place = {};
    return std::nullopt;
  }

  static Complaint trim(const Place& place) {
    snug_heap_trim(place.heap);
    snug_heap_stats stats{};
    snug_heap_get_stats(place.heap, &stats);
    if (place.blocks == 0 && stats.bytes_held != 0) return "an empty heap holds memory after a trim";
    if (stats.bytes_cached != 0) return "blocks are cached after a trim by the only thread";
    return std::nullopt;
  }

  Complaint visit(const Place& place, int heap) const {
    // What the thread has cached may count as live until it has gone home.
    snug_heap_trim(place.heap);
    std::map<void*, size_t> seen;
    const int twice = snug_heap_visit(
        place.heap,
        [](void* all, void* block, size_t bytes) -> int {
          return static_cast<std::map<void*, size_t>*>(all)->emplace(block, bytes).second ? 0 : 1;
        },
        &seen);
    if (twice != 0) return "visit saw a block twice";
    if (seen.size() != place.blocks) return "visit saw " + std::to_string(seen.size()) + " blocks";
    for (const auto& [address, known] : blocks_) {
      if (known.heap != heap) continue;
      const auto found = seen.find(address);
      if (found == seen.end()) return "visit missed a live block";
      if (found->second != known.usable) return "visit has other usable bytes";
    }
    return std::nullopt;
  }

  // ---- blocks

  using Entry = std::map<void*, Known>::iterator;

  Entry chosen(uint32_t pick) {
    auto entry = blocks_.begin();
    std::advance(entry, static_cast<std::ptrdiff_t>(pick % blocks_.size()));
    return entry;
  }

  // Null is right only from a heap with a limit: the machine has memory.
  Complaint refused(int heap) const {
    if (errno != ENOMEM) return "null without ENOMEM";
    if (heap == kOfMalloc || places_[static_cast<size_t>(heap)].limit == 0) return "null from a heap without a limit";
    return std::nullopt;
  }

  Complaint add(int heap, void* address, size_t size, size_t alignment) {
    if (address == nullptr) return refused(heap);
    const size_t usable = snug_malloc_usable_size(address);
    if (usable < size) return "fewer usable bytes than were asked for";
    if (reinterpret_cast<uintptr_t>(address) % std::max<size_t>(alignment, 16) != 0) return "misaligned";
    snug_heap* const expected = heap == kOfMalloc ? nullptr : places_[static_cast<size_t>(heap)].heap;
    if (snug_heap_of(address) != expected) return "heap_of names another heap";
    if (!is_in_place(heap, address, usable)) return "lies elsewhere than in its heap's region";
    if (overlaps(address, usable)) return "overlaps a live block";
    const Known known{heap, size, usable, ++seed_};
    write_pattern(address, size, known.seed);
    blocks_.emplace(address, known);
    count(known, 1);
    return std::nullopt;
  }

  // A block of a heap with a region lies there, any other in no region.
  bool is_in_place(int heap, const void* address, size_t usable) const {
    const char* const region = heap == kOfMalloc ? nullptr : places_[static_cast<size_t>(heap)].region;
    const char* const start = static_cast<const char*>(address);
    if (region != nullptr) return start >= region && start + usable <= region + kRegionBytes;
    return start < regions[0] || start >= regions[kHeaps - 1] + kRegionBytes;
  }

  bool overlaps(void* address, size_t usable) const {
    const auto after = blocks_.lower_bound(address);
    const char* const begin = static_cast<const char*>(address);
    if (after != blocks_.end() && begin + std::max<size_t>(usable, 1) > after->first) return true;
    if (after == blocks_.begin()) return false;
    const auto before = std::prev(after);
    return static_cast<const char*>(before->first) + before->second.usable > begin;
  }

  void count(const Known& known, int by) {
    if (known.heap == kOfMalloc) return;
    Place& place = places_[static_cast<size_t>(known.heap)];
    place.blocks += static_cast<size_t>(by);
    place.bytes += static_cast<size_t>(by) * known.usable;
  }

  static Complaint verify(const void* address, const Known& known, size_t prefix) {
    if (const auto damaged = find_damage(address, known.size, known.seed, prefix))
      return "damaged at byte " + std::to_string(*damaged) + " of " + std::to_string(known.size);
    return std::nullopt;
  }

  // Verifies the block and takes it out of the reference, before it is freed.
  Complaint forget(Entry entry) {
    if (snug_malloc_usable_size(entry->first) != entry->second.usable) return "the usable size has changed";
    Complaint complaint = verify(entry->first, entry->second, entry->second.size);
    count(entry->second, -1);
    blocks_.erase(entry);
    return complaint;
  }

  Complaint free_block(Entry entry) {
    void* const address = entry->first;
    Complaint complaint = forget(entry);
    errno = EDOM;
    snug_free(address);
    if (errno != EDOM) return "free changed errno";
    return complaint;
  }

  Complaint free_some(const HeapOperation& operation) {
    std::vector<void*> addresses{nullptr};
    for (unsigned i = 0; i < operation.count && !blocks_.empty(); ++i) {
      const Entry entry = chosen(operation.pick + i);
      addresses.push_back(entry->first);
      if (Complaint complaint = forget(entry)) return complaint;
    }
    snug_free_batch(addresses.data(), addresses.size());
    return std::nullopt;
  }

  Complaint batch(const HeapOperation& operation) {
    const size_t size = operation.size % 5000;
    std::vector<void*> addresses(operation.count);
    const size_t got = snug_heap_malloc_batch(places_[operation.heap].heap, size, addresses.data(), addresses.size());
    if (got > addresses.size()) return "more blocks than were asked for";
    if (got < addresses.size()) {
      if (Complaint complaint = refused(static_cast<int>(operation.heap))) return complaint;
    }
    for (size_t i = 0; i < got; ++i)
      if (Complaint complaint = add(static_cast<int>(operation.heap), addresses[i], size, 16)) return complaint;
    return std::nullopt;
  }

  // Into the heap; nullopt: where the block is. Without a live block, as malloc.
  Complaint resize(const HeapOperation& operation, std::optional<int> into) {
    if (blocks_.empty()) {
      if (!into) return std::nullopt;
      const size_t size = operation.size + 1;
      return add(*into, snug_heap_realloc(places_[static_cast<size_t>(*into)].heap, nullptr, size), size, 16);
    }
    const Entry entry = chosen(operation.pick);
    void* const before = entry->first;
    const Known known = entry->second;
    if (Complaint complaint = verify(before, known, known.size)) return complaint;
    const int heap = into.value_or(known.heap);
    errno = 0;
    void* const after = into ? snug_heap_realloc(places_[static_cast<size_t>(heap)].heap, before, operation.size)
                             : snug_realloc(before, operation.size);
    if (after == nullptr && operation.size != 0) {
      if (Complaint complaint = refused(heap)) return complaint;
      // The block is as it was, and where it was.
      snug_heap* const home = known.heap == kOfMalloc ? nullptr : places_[static_cast<size_t>(known.heap)].heap;
      if (snug_heap_of(before) != home) return "what realloc refused has moved";
      return verify(before, known, known.size);
    }
    count(known, -1);
    blocks_.erase(entry);
    if (operation.size == 0) return after == nullptr ? std::nullopt : Complaint("realloc to 0 returned a block");
    if (Complaint complaint = verify(after, known, std::min(known.size, operation.size))) return complaint;
    return add(heap, after, operation.size, 16);
  }

  // ---- checks

  Complaint check(unsigned index) {
    if (const char* broken = snug_check(0)) return std::string("check(): ") + broken;
    Place& place = places_[index];
    if (place.heap == nullptr) return std::nullopt;
    snug_heap_stats stats{};
    if (snug_heap_get_stats(place.heap, &stats) != 0) return "no statistics";
    std::ostringstream out;
    if (stats.blocks_in_use != place.blocks)
      out << "blocks_in_use is " << stats.blocks_in_use << ", the model holds " << place.blocks;
    else if (stats.bytes_in_use != place.bytes)
      out << "bytes_in_use is " << stats.bytes_in_use << ", the model holds " << place.bytes;
    else if (stats.bytes_held < stats.bytes_in_use + stats.bytes_cached)
      out << "bytes_held is " << stats.bytes_held << ", less than is in use and cached";
    else if (stats.peak_held < stats.bytes_held || stats.peak_held < place.peak)
      out << "peak_held is " << stats.peak_held << ", held " << stats.bytes_held << ", before " << place.peak;
    else if (stats.limit != place.limit || (place.limit != 0 && stats.peak_held > place.limit))
      out << "limit is " << stats.limit << ", peak_held " << stats.peak_held << ", the model's limit " << place.limit;
    place.peak = stats.peak_held;
    return out.str().empty() ? std::nullopt : Complaint(out.str());
  }

  // Half of the heaps are emptied first, the others end with their blocks.
  Complaint end() {
    for (const auto& [address, known] : blocks_)
      if (Complaint complaint = verify(address, known, known.size)) return "at the end: " + *complaint;
    for (auto entry = blocks_.begin(); entry != blocks_.end();) {
      const Entry next = std::next(entry);
      const bool stays = entry->second.heap % 2 == 1 && !places_[static_cast<size_t>(entry->second.heap)].must_be_empty;
      if (!stays) {
        if (Complaint complaint = free_block(entry)) return "at the end: " + *complaint;
      }
      entry = next;
    }
    for (unsigned i = 0; i < kHeaps; ++i) {
      if (Complaint complaint = check(i)) return "at the end: " + *complaint;
      if (Complaint complaint = destroy(places_[i], i)) return "at the end: " + *complaint;
      if (places_[i].heap != nullptr) return "at the end: a heap is not empty";
    }
    if (const char* broken = snug_check(1)) return std::string("at the end: check(): ") + broken;
    return std::nullopt;
  }

  std::array<Place, kHeaps> places_;
  std::map<void*, Known> blocks_;
  uint64_t seed_ = 0;
};

}  // namespace

std::ostream& operator<<(std::ostream& out, const HeapOperation& operation) {
  return out << kNames[static_cast<size_t>(operation.step)] << " heap " << operation.heap << " pick " << operation.pick
             << " size " << operation.size << " limit " << operation.limit << " shift " << operation.shift << " count "
             << operation.count << (operation.must_be_empty ? " must be empty" : "")
             << (operation.in_region ? " in its region" : "");
}

std::string describe(const HeapProgram& program) {
  std::ostringstream out;
  for (size_t i = 0; i < program.size(); ++i) out << "  " << i << ": " << program[i] << "\n";
  return out.str();
}

Complaint run_on_heaps(const HeapProgram& program) { return HeapRunner().run(program); }

}  // namespace snug::model
