// counting_source.h: a pool's source that counts what is out, checks what comes back, and refuses beyond a limit. All
// of its copies share the counts of one ledger. And one that gives just the alignment asked for.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <limits>
#include <map>
#include <mutex>

namespace snug {

struct SourceLedger {
  std::mutex mutex;
  std::map<void*, std::pair<size_t, size_t>> blocks;
  size_t bytes = 0;
  size_t requests = 0;
  size_t limit = std::numeric_limits<size_t>::max();  // of bytes
  // Called before the source refuses, and gives.
  std::function<void()> on_refusal = [] {};
  std::function<void()> on_request = [] {};
};

struct CountingSource {
  SourceLedger* ledger;

  void* allocate(size_t bytes, size_t alignment) noexcept {
    ledger->on_request();
    std::unique_lock guard(ledger->mutex);
    ++ledger->requests;
    if (bytes > ledger->limit - ledger->bytes) {
      guard.unlock();
      ledger->on_refusal();
      return nullptr;
    }
    void* const block = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    ledger->blocks[block] = {bytes, alignment};
    ledger->bytes += bytes;
    return block;
  }
  void deallocate(void* block, size_t bytes, size_t alignment) noexcept {
    const std::lock_guard guard(ledger->mutex);
    const auto found = ledger->blocks.find(block);
    ASSERT_NE(found, ledger->blocks.end());
    EXPECT_EQ(found->second, std::pair(bytes, alignment));
    ledger->blocks.erase(found);
    ledger->bytes -= bytes;
    std::free(block);
  }
};

// Gives no stricter an alignment than it is asked for.
struct LaxSource {
  static void* allocate(size_t bytes, size_t alignment) noexcept {
    char* const memory =
        static_cast<char*>(std::aligned_alloc(2 * alignment, (bytes + 3 * alignment) & ~(2 * alignment - 1)));
    return memory != nullptr ? memory + alignment : nullptr;
  }
  static void deallocate(void* block, size_t, size_t alignment) noexcept {
    std::free(static_cast<char*>(block) - alignment);
  }
};

}  // namespace snug
