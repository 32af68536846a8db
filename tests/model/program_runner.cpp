#include "program_runner.h"

#include <algorithm>
#include <sstream>
#include <vector>

#include "block_pattern.h"

namespace snug::model {

namespace {

Complaint disagree(const char* what, uint64_t heap, uint64_t reference) {
  if (heap == reference) return std::nullopt;
  std::ostringstream out;
  out << what << " is " << heap << " in the statistics, " << reference << " in the reference";
  return out.str();
}

}  // namespace

ProgramRunner::ProgramRunner(const AllocatorUnderTest& allocator, RunOptions options)
    : allocator_(allocator), options_(options) {
  allocator_.get_stats(&baseline_);
  // Seeds of different runners must differ, or a block given to the wrong thread would look right.
  next_seed_ = pattern_word(reinterpret_cast<uintptr_t>(this), 1);
}

Complaint ProgramRunner::step(const Operation& operation) {
  ++steps_;
  Complaint complaint;
  if (is_allocation(operation.kind)) {
    complaint = allocate(operation);
  } else if (operation.kind == OperationKind::kMallocBatch) {
    complaint = allocate_batch(operation);
  } else if (operation.kind == OperationKind::kTrim) {
    allocator_.trim(0);
  } else if (operation.kind == OperationKind::kVerifyAll) {
    complaint = verify_all();
  } else if (const LiveBlock* chosen = reference_.choose(operation.choice, operation.pick)) {
    switch (operation.kind) {
      case OperationKind::kRealloc:
        complaint = reallocate(operation);
        break;
      case OperationKind::kFree:
        complaint = free_block(LiveBlock(*chosen), false);
        break;
      case OperationKind::kFreeBatch:
        complaint = free_batch(operation);
        break;
      case OperationKind::kMove:
        complaint = move(LiveBlock(*chosen));
        break;
      case OperationKind::kFreeSized:
        complaint = free_block(LiveBlock(*chosen), true);
        break;
      default:
        complaint = verify(*chosen, chosen->usable);
        break;
    }
  } else if (operation.kind == OperationKind::kRealloc) {
    complaint = allocate(operation);  // realloc(NULL, n) is malloc(n)
  }
  if (!complaint && options_.verify_every != 0 && steps_ % options_.verify_every == 0) complaint = verify_all();
  if (!complaint && options_.check_every != 0 && steps_ % options_.check_every == 0) complaint = check_structures();
  return complaint;
}

Complaint ProgramRunner::finish() {
  if (Complaint complaint = verify_all()) return complaint;
  while (const LiveBlock* oldest = reference_.choose(Choice::kOldest, 0)) {
    if (Complaint complaint = free_block(LiveBlock(*oldest), false)) return complaint;
  }
  if (options_.check_every == 0) return std::nullopt;
  return check_structures();
}

Complaint ProgramRunner::verify_all() const {
  Complaint complaint;
  reference_.for_each([&](const LiveBlock& block) {
    if (!complaint) complaint = verify(block, block.usable);
  });
  return complaint;
}

Complaint ProgramRunner::check_structures() const {
  if (const char* broken = allocator_.check(1)) return std::string("check(): ") + broken;
  snug_stats stats{};
  if (allocator_.get_stats(&stats) != 0) return "get_stats failed";
  if (Complaint c = disagree("blocks_in_use", stats.blocks_in_use - baseline_.blocks_in_use, reference_.blocks())) {
    return c;
  }
  const uint64_t bytes = stats.bytes_in_use - baseline_.bytes_in_use;
  if (!agrees_in_bytes(bytes, reference_.bytes())) return disagree("bytes_in_use", bytes, reference_.bytes());
  const uint64_t allocations = stats.allocations - baseline_.allocations;
  if (Complaint c =
          disagree("allocations", allocations, std::clamp(allocations, least_allocations(), most_allocations()))) {
    return c;
  }
  if (stats.blocks_large > stats.blocks_in_use) return "blocks_large exceeds blocks_in_use";
  if (stats.bytes_large > stats.bytes_in_use) return "bytes_large exceeds bytes_in_use";
  if (stats.bytes_in_use > stats.bytes_reserved) return "bytes_in_use exceeds bytes_reserved";
  return std::nullopt;
}

bool ProgramRunner::release(uint32_t pick, LiveBlock* block) {
  const LiveBlock* chosen = reference_.choose(Choice::kPick, pick);
  if (chosen == nullptr) return false;
  *block = *chosen;
  return !reference_.remove(block->address);
}

Complaint ProgramRunner::adopt(const LiveBlock& block) {
  if (Complaint complaint = verify(block, block.usable)) return complaint;
  return reference_.add(block);
}

Complaint ProgramRunner::allocate(const Operation& operation) {
  void* address = nullptr;
  size_t alignment = 16;
  switch (operation.kind) {
    case OperationKind::kCalloc:
      address = allocator_.calloc(1, operation.size);
      break;
    case OperationKind::kAlignedAlloc:
      alignment = operation.alignment;
      address = allocator_.aligned_alloc(alignment, operation.size);
      break;
    case OperationKind::kRealloc:
      address = allocator_.realloc(nullptr, operation.size);
      break;
    default:
      address = allocator_.malloc(operation.size);
      break;
  }
  ++allocations_;
  if (address != nullptr && operation.kind == OperationKind::kCalloc) {
    if (const auto at = find_nonzero(address, operation.size)) {
      return "calloc of " + std::to_string(operation.size) + " bytes is not zero at offset " + std::to_string(*at);
    }
  }
  return account_for(address, operation.size, alignment, operation.kind == OperationKind::kAlignedAlloc);
}

Complaint ProgramRunner::allocate_batch(const Operation& operation) {
  std::vector<void*> blocks(operation.count);
  const size_t got = allocator_.malloc_batch(operation.size, blocks.data(), blocks.size());
  if (got != blocks.size()) return "malloc_batch gave " + std::to_string(got) + " of " + std::to_string(blocks.size());
  allocations_ += got;
  for (void* block : blocks) {
    if (Complaint complaint = account_for(block, operation.size, 16, false)) return complaint;
  }
  return std::nullopt;
}

Complaint ProgramRunner::free_batch(const Operation& operation) {
  std::vector<void*> blocks;
  for (uint32_t i = 0; i < operation.count; ++i) {
    const LiveBlock* chosen = reference_.choose(operation.choice, operation.pick + i);
    if (chosen == nullptr) break;
    const LiveBlock block = *chosen;
    if (Complaint complaint = verify(block, block.usable)) return complaint;
    if (Complaint complaint = reference_.remove(block.address)) return complaint;
    if (i % 16 == 8) blocks.push_back(nullptr);
    blocks.push_back(reinterpret_cast<void*>(block.address));
  }
  allocator_.free_batch(blocks.data(), blocks.size());
  return std::nullopt;
}

// Of a few blocks of any kinds, and of a null.
Complaint ProgramRunner::ask_of_some() const {
  std::vector<void*> blocks(5);
  for (uint32_t i = 0; i < 4; ++i) blocks[i] = reinterpret_cast<void*>(reference_.choose(Choice::kPick, i)->address);
  std::vector<unsigned char> answers(blocks.size(), 2);
  const size_t told = allocator_.should_move_batch(blocks.data(), blocks.size(), answers.data());
  const auto count_of = [&](int answer) {
    return static_cast<size_t>(std::count(answers.begin(), answers.end(), answer));
  };
  if (answers.back() == 0 && told == count_of(1) && told + count_of(0) == answers.size()) return std::nullopt;
  return "should_move_batch says " + std::to_string(told) + " of blocks of which it answers 1 for " +
         std::to_string(count_of(1)) + " and 0 for " + std::to_string(count_of(0));
}

// Whatever the answer is, which is advice: both blocks live for a while.
Complaint ProgramRunner::move(const LiveBlock& block) {
  if (Complaint complaint = verify(block, block.usable)) return complaint;
  void* const from = reinterpret_cast<void*>(block.address);
  const int answer = allocator_.should_move(from);
  if (answer != 0 && answer != 1) return "should_move answers " + std::to_string(answer);
  if (Complaint complaint = ask_of_some()) return complaint;
  void* const to = allocator_.malloc_uncached(block.requested);
  ++allocations_;
  if (Complaint complaint = account_for(to, block.requested, 16, false)) return complaint;
  if (Complaint complaint = verify(block, block.usable)) return complaint;
  if (Complaint complaint = reference_.remove(block.address)) return complaint;
  allocator_.free_uncached(from);
  return std::nullopt;
}

Complaint ProgramRunner::reallocate(const Operation& operation) {
  const LiveBlock old = *reference_.choose(operation.choice, operation.pick);
  // realloc to 0 is obsolescent and means a different thing in every libc; the conformance tests pin ours.
  const size_t size = std::max<size_t>(operation.size, 1);
  if (Complaint complaint = verify(old, old.usable)) return complaint;
  if (Complaint complaint = reference_.remove(old.address)) return complaint;
  void* const address = allocator_.realloc(reinterpret_cast<void*>(old.address), size);
  ++reallocations_;
  if (address == nullptr) return "realloc to " + std::to_string(size) + " bytes failed";
  if (const auto at = find_damage(address, old.usable, old.seed, std::min(old.requested, size))) {
    return "realloc from " + std::to_string(old.requested) + " to " + std::to_string(size) +
           " bytes lost the contents at offset " + std::to_string(*at);
  }
  return account_for(address, size, 16, false);
}

Complaint ProgramRunner::free_block(const LiveBlock& block, bool sized) {
  if (Complaint complaint = verify(block, block.usable)) return complaint;
  if (Complaint complaint = reference_.remove(block.address)) return complaint;
  void* const address = reinterpret_cast<void*>(block.address);
  if (!sized) {
    allocator_.free(address);
  } else if (block.from_aligned) {
    allocator_.free_aligned_sized(address, block.alignment, block.requested);
  } else {
    allocator_.free_sized(address, block.requested);
  }
  return std::nullopt;
}

Complaint ProgramRunner::verify(const LiveBlock& block, size_t prefix) const {
  void* const address = reinterpret_cast<void*>(block.address);
  const size_t usable = allocator_.usable_size(address);
  if (usable != block.usable) {
    return "the usable size of a live block changed from " + std::to_string(block.usable) + " to " +
           std::to_string(usable);
  }
  const auto at = find_damage(address, block.usable, block.seed, prefix);
  if (!at) return std::nullopt;
  std::ostringstream out;
  out << "a live block of " << block.requested << " bytes (" << block.usable << " usable) at 0x" << std::hex
      << block.address << std::dec << " was overwritten at offset " << *at;
  return out.str();
}

Complaint ProgramRunner::account_for(void* address, size_t requested, size_t alignment, bool from_aligned) {
  const LiveBlock block{reinterpret_cast<uintptr_t>(address),
                        requested,
                        address == nullptr ? 0 : allocator_.usable_size(address),
                        alignment,
                        next_seed_++,
                        from_aligned};
  if (Complaint complaint = reference_.add(block)) return complaint;
  // All of the usable size, not only what was asked for: it may all be written.
  write_pattern(address, block.usable, block.seed);
  return std::nullopt;
}

}  // namespace snug::model
