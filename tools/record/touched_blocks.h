// TouchedBlocks: which OS pages of a process's large blocks were touched, as far as it has been seen and told. Two
// look: a thread of the process, at a block that it lets go; and the collector, from outside, at those that live.
//
//   what is told of a block: each of its pages once at most, and only while it lives;   a page that is not in memory
//   was not touched, and one that is may have been touched by the block that had it before
//
// A block that goes is not taken out: what has become of it the table of blocks knows (BlockTable), which is asked
// before anything is told. Those that have gone are dropped as soon as they may be half of all.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "process/page_map.h"
#include "record/block_table.h"
#include "recorder/ring.h"
#include "trace/block_id.h"

namespace snug::tool {

struct TouchedBytes {
  std::uint64_t from = 0;  // the block's begin
  std::uint64_t size = 0;
};

// The pages of a block, a bit each.
class PageSet {
 public:
  void add(std::uint64_t page);
  bool contains(std::uint64_t page) const {
    return page / 64 < words_.size() && (words_[page / 64] >> page % 64 & 1) != 0;
  }
  std::uint64_t end() const { return words_.size() * 64; }  // behind the last

 private:
  std::vector<std::uint64_t> words_;
};

class TouchedBlocks {
 public:
  using Tell = std::function<void(trace::BlockId block, const TouchedBytes& bytes)>;

  // The ring says which process it is. It outlives this.
  explicit TouchedBlocks(const recorder::Ring& ring) : ring_(ring) {}

  // A block that has come. `live` is the table in which it stands.
  void note(std::uint64_t address, trace::BlockId block, std::uint64_t size, const BlockTable& live);
  void forget() { blocks_.clear(); }

  // As the process has seen it: of 64 pages from that of this address in the block, those that were touched.
  void add(std::uint64_t address, std::uint64_t pages, const BlockTable& live, const Tell& tell);

  // Looks at the blocks that live. What was seen is told at a later place in the trace, with those that still live
  // there; what has come meanwhile is looked at then. False if there is none, or the process does not let us look.
  bool look(const BlockTable& live);
  void tell_seen(const BlockTable& live, const Tell& tell);
  // When nothing comes any more: a block that nobody has looked at counts as touched whole.
  void tell_never_seen(const BlockTable& live, const Tell& tell);

 private:
  struct Block {
    trace::BlockId block = trace::BlockId::kNone;
    std::uint64_t size = 0;
    bool was_seen = false;
    bool is_seen_now = false;
    PageSet told;
    PageSet seen;
  };
  using Blocks = std::map<std::uint64_t, Block>;  // by address

  void drop_gone(const BlockTable& live);
  bool look_at(const PageMap& map, std::uint64_t address, Block& block) const;
  static void tell_new(std::uint64_t address, Block& block, const Tell& tell);

  const recorder::Ring& ring_;
  Blocks blocks_;
  std::size_t worth_dropping_ = kFewest;

  static constexpr std::size_t kFewest = 1024;
};

}  // namespace snug::tool
