// loads.h: what heaps of one's own are measured on, for any kind of heap: one program each includes this with an
// adapter, and so all of them ask for the same blocks in the same order. Each load goes on for half a second, and is
// a figure of time, in ns of one request, block or heap, and one of memory.
//
// An adapter is a class, made and ended with its heap:
//   void* allocate(size_t);   void free(void*, size_t);
//   kName; kEnds (Ending: whether its end frees all of its blocks, or they are freed one by one before);
//   kSharing (Sharing: what threads that share one need); kMostHeaps (that can live at once).
#pragma once

#include <mutex>
#include <new>
#include <optional>

#include "workload.h"

namespace heaps {

using workload::Array;
using workload::now_ns;
using workload::Options;
using workload::Program;
using workload::Random;
using workload::Report;
using workload::scaled;

enum class Ending { kAtOnce, kBlockByBlock };
enum class Sharing { kFree, kWithLock, kNever };

struct Block {
  void* at;
  size_t size;
};

// Sizes in an order of their own, which is the same in all programs.
class Sizes {
 public:
  template <class Draw>
  Sizes(uint64_t seed, Draw&& draw) : sizes_(kCount) {
    Random random(seed);
    for (uint32_t& size : sizes_) size = static_cast<uint32_t>(draw(random));
  }
  size_t next() { return sizes_[at_++ % kCount]; }
  // Threads begin at other places.
  void skip_to(size_t place) { at_ = place; }

 private:
  static constexpr size_t kCount = 1 << 16;
  Array<uint32_t> sizes_;
  size_t at_ = 0;
};

// 16 B to 4 KiB, half of them up to 64 B: 220 B in the mean.
inline size_t draw_skewed(Random& random) {
  const size_t percent = random.below(100);
  return percent < 50   ? random.between(16, 64)
         : percent < 75 ? random.between(65, 128)
         : percent < 90 ? random.between(129, 512)
         : percent < 97 ? random.between(513, 1024)
                        : random.between(1025, 4096);
}

// The blocks that a heap has in use, outside of it.
class Live {
 public:
  Live(size_t most, const Options& options) : blocks_(most), verify_(options.verify) {}

  template <class Heap>
  void add(Heap& heap, size_t size) {
    void* const block = heap.allocate(size);
    workload::stamp(block, size);
    for (size_t at = 4096; at < size; at += 4096) static_cast<char*>(block)[at] = 1;  // each page is used
    static_cast<char*>(block)[size - 1] = 1;
    blocks_[count_++] = {block, size};
  }
  template <class Heap>
  void free_any(Heap& heap, Random& random) {
    const size_t chosen = random.below(count_);
    const Block block = blocks_[chosen];
    blocks_[chosen] = blocks_[--count_];
    if (++freed_ % verify_ == 0) workload::check_stamp(block.at, block.size);
    heap.free(block.at, block.size);
  }
  // What is left is freed only where the heap's end does not do it.
  template <class Heap>
  void end(Heap& heap) {
    if (count_ != 0 && ++freed_ % verify_ == 0) workload::check_stamp(blocks_[0].at, blocks_[0].size);
    if constexpr (Heap::kEnds == Ending::kBlockByBlock)
      for (size_t i = 0; i < count_; ++i) heap.free(blocks_[i].at, blocks_[i].size);
    count_ = 0;
  }
  size_t count() const { return count_; }

 private:
  Array<Block> blocks_;
  size_t count_ = 0;
  unsigned verify_;
  unsigned freed_ = 0;
};

// Repeats a step for half a second; ns a step. The clock is read every `stride` steps.
template <class Step>
double repeat(const Options& options, size_t stride, Step&& step) {
  const double start = now_ns();
  double now = start;
  size_t done = 0;
  for (; done == 0 || now - start < 0.5e9 * options.scale; now = now_ns())
    for (size_t i = 0; i < stride; ++i, ++done) step();
  return (now - start) / static_cast<double>(done);
}

// A request: 20 to 400 blocks, a third of which is freed before it ends. ns a request and thread.
template <class Heap>
double serve_requests(const Options& options, unsigned threads, uint64_t seed) {
  std::vector<double> each(threads);
  workload::run_threads(threads, [&](unsigned t) {
    Sizes sizes(seed, draw_skewed);
    sizes.skip_to(t * 7919);
    Random random(seed + t);
    Live live(400, options);
    each[t] = repeat(options, 8, [&] {
      Heap heap;
      const size_t blocks = std::min<size_t>(400, random.log_between(16, 512) + 4);
      for (size_t i = 0; i < blocks; ++i) {
        live.add(heap, sizes.next());
        if (random.below(3) == 0) live.free_any(heap, random);
      }
      live.end(heap);
    });
  });
  double sum = 0;
  for (const double ns : each) sum += ns;
  return sum / threads;
}

// A query: eight operators have a heap each and take turns in one thread; half of their rows are freed. ns a row.
template <class Heap>
double run_queries(const Options& options, uint64_t seed) {
  constexpr size_t kOperators = 8, kRows = 4000;
  Sizes sizes(seed, [](Random& random) { return random.log_between(64, 65536); });
  Random random(seed);
  std::vector<Live*> live;
  for (size_t i = 0; i < kOperators; ++i) live.push_back(new Live(kRows, options));
  const double ns = repeat(options, 1, [&] {
    std::optional<Heap> operators[kOperators];
    for (auto& each : operators) each.emplace();
    for (size_t row = 0; row < kRows; ++row) {
      const size_t at = row % kOperators;
      live[at]->add(*operators[at], sizes.next());
      if (random.below(2) == 0) live[at]->free_any(*operators[at], random);
    }
    for (size_t at = 0; at < kOperators; ++at) {
      live[at]->end(*operators[at]);
      operators[at].reset();
    }
  });
  for (Live* const each : live) delete each;
  return ns / kRows;
}

struct Node {
  Node* child;
  Node* sibling;
  char* text;  // null for two of three
  uint32_t text_size;
  uint32_t size;
};

template <class Heap>
Node* add_node(Heap& heap, Node* parent, size_t size, size_t text_size) {
  void* const place = heap.allocate(size);
  if (place == nullptr) workload::fail("out of memory");
  auto* const node = ::new (place) Node{nullptr, nullptr, nullptr, 0, static_cast<uint32_t>(size)};
  if (text_size != 0) {
    node->text = static_cast<char*>(heap.allocate(text_size));
    if (node->text == nullptr) workload::fail("out of memory");
    std::memset(node->text, 'x', text_size);
    node->text_size = static_cast<uint32_t>(text_size);
  }
  if (parent != nullptr) {
    node->sibling = parent->child;
    parent->child = node;
  }
  return node;
}

// Calls look(node) with each after its children.
template <class Look>
void walk(Node* node, Look&& look) {
  for (Node* child = node->child; child != nullptr;) {
    Node* const next = child->sibling;
    walk(child, look);
    child = next;
  }
  look(node);
}

// A document: 20,000 blocks, of which a quarter are strings of 16 to 200 B and the others nodes of 32 to 64 B, in a
// tree that is walked and ended. ns a block.
template <class Heap>
double parse_documents(const Options& options, uint64_t seed) {
  constexpr size_t kBlocks = 20000, kNodes = kBlocks * 3 / 4, kDepth = 12;
  Random random(seed);
  const double ns = repeat(options, 1, [&] {
    Heap heap;
    Node* path[kDepth] = {add_node(heap, nullptr, 64, 0)};
    size_t depth = 1, bytes = 0;
    for (size_t i = 1; i < kNodes; ++i) {
      const size_t text = i % 3 == 0 ? random.between(16, 200) : 0;
      Node* const node = add_node(heap, path[depth - 1], 32 + 8 * random.below(5), text);
      bytes += text;
      if (depth < kDepth && random.below(2) == 0)
        path[depth++] = node;
      else if (depth > 1 && random.below(2) == 0)
        --depth;
    }
    walk(path[0], [&](Node* node) {
      for (size_t at = 0; at < node->text_size; at += 64) bytes -= node->text[at] != 'x';
      bytes -= node->text_size;
    });
    if (bytes != 0) workload::fail("a document was damaged");
    if constexpr (Heap::kEnds == Ending::kBlockByBlock)
      walk(path[0], [&](Node* node) {
        if (node->text != nullptr) heap.free(node->text, node->text_size);
        heap.free(node, node->size);
      });
  });
  return ns / kBlocks;
}

// Heaps that do next to nothing. ns a heap.
template <class Heap>
double make_and_end(const Options& options, size_t blocks) {
  constexpr size_t kSizes[] = {32, 128, 512, 2048};
  Live live(blocks, options);
  return repeat(options, 256, [&] {
    Heap heap;
    for (size_t i = 0; i < blocks; ++i) live.add(heap, blocks == 1 ? 64 : kSizes[i % std::size(kSizes)]);
    live.end(heap);
  });
}

// The most that the process had resident, in B: of this program alone, since exec begins anew.
double peak_bytes();

// Heaps that live at once, with 4 KiB in ten blocks each: as many as are asked for, or as a kind can have, or as fit
// into 4 GiB. ns to make and end one; B that one takes, and that are left of it; how many there were.
template <class Heap>
std::array<double, 4> keep_heaps(const Options& options) {
  constexpr size_t kSizes[] = {512, 32, 1472, 64, 128, 32, 1024, 64, 512, 256};
  constexpr size_t kEach = std::size(kSizes);
  constexpr double kMostBytes = 4.0 * (1 << 30);
  const size_t most = std::min<size_t>(scaled(options, 1e5), Heap::kMostHeaps);
  size_t count = 0;
  Array<void*> blocks(most * kEach);
  const size_t before = workload::anonymous_kib();
  std::array<double, 4> result{};
  const auto bytes_each = [&] {
    const size_t now = workload::anonymous_kib();
    return static_cast<double>(now - std::min(now, before)) * 1024 / static_cast<double>(count);
  };
  double ns = 0;
  {
    Array<std::array<unsigned char, sizeof(Heap)>> places(most);
    const auto heap_at = [&](size_t i) { return std::launder(reinterpret_cast<Heap*>(&places[i])); };
    const double start = now_ns();
    for (; count < most && (count % 256 != 0 || peak_bytes() < kMostBytes); ++count) {
      Heap* const heap = ::new (static_cast<void*>(&places[count])) Heap;
      for (size_t k = 0; k < kEach; ++k) {
        void* const block = heap->allocate(kSizes[k]);
        workload::stamp(block, kSizes[k]);
        blocks[count * kEach + k] = block;
      }
    }
    ns += now_ns() - start;
    result[1] = bytes_each();
    const double middle = now_ns();
    for (size_t i = 0; i < count; ++i) {
      if constexpr (Heap::kEnds == Ending::kBlockByBlock)
        for (size_t k = 0; k < kEach; ++k) heap_at(i)->free(blocks[i * kEach + k], kSizes[k]);
      heap_at(i)->~Heap();
    }
    ns += now_ns() - middle;
  }
  result[0] = ns / static_cast<double>(count);
  result[2] = bytes_each();
  result[3] = static_cast<double>(count);
  return result;
}

// For threads that share a heap which does not know of them.
template <class Heap>
class Locked {
 public:
  static constexpr Ending kEnds = Heap::kEnds;
  void* allocate(size_t size) {
    const std::lock_guard guard(mutex_);
    return heap_.allocate(size);
  }
  void free(void* block, size_t size) {
    const std::lock_guard guard(mutex_);
    heap_.free(block, size);
  }

 private:
  std::mutex mutex_;
  Heap heap_;
};

// Four threads share a heap: each replaces blocks of its 500, one of eight by way of a place that all of them use, so
// that blocks are freed by others. ns a replacement and thread.
template <class Heap>
double share_a_heap(const Options& options, unsigned threads, uint64_t seed) {
  constexpr size_t kOwn = 500, kCommon = 256;
  struct Held {  // its size before its bytes
    size_t size;
  };
  Heap heap;
  Array<Held*> common(kCommon);
  std::vector<double> each(threads);
  const auto give = [&](Held* held) {
    if (held != nullptr) heap.free(held, held->size);
  };
  workload::run_threads(threads, [&](unsigned t) {
    Sizes sizes(seed, draw_skewed);
    sizes.skip_to(t * 7919);
    Random random(seed + t);
    Array<Held*> own(kOwn);
    each[t] = repeat(options, 256, [&] {
      const size_t size = sizes.next();
      auto* held = static_cast<Held*>(heap.allocate(size));
      if (held == nullptr) workload::fail("out of memory");
      held->size = size;
      if (random.below(8) == 0) held = __atomic_exchange_n(&common[random.below(kCommon)], held, __ATOMIC_ACQ_REL);
      if (held != nullptr) std::swap(own[random.below(kOwn)], held);
      give(held);
    });
    for (Held* const held : own) give(held);
  });
  for (Held* const held : common) give(held);
  double sum = 0;
  for (const double ns : each) sum += ns;
  return sum / threads;
}

template <class Heap>
void measure(const Options& options, Report& report) {
  const auto load = [&](const std::string& name, auto&& round) {
    report.measure({{name + "/time", "ns"}, {name + "/peak", "B"}}, [&](uint64_t seed) {
      const double ns = round(seed);
      return std::array<double, 2>{ns, peak_bytes()};
    });
  };
  load("requests", [&](uint64_t seed) { return serve_requests<Heap>(options, 1, seed); });
  load("requests_threads", [&](uint64_t seed) { return serve_requests<Heap>(options, options.threads, seed); });
  load("query", [&](uint64_t seed) { return run_queries<Heap>(options, seed); });
  load("document", [&](uint64_t seed) { return parse_documents<Heap>(options, seed); });
  load("one_block", [&](uint64_t) { return make_and_end<Heap>(options, 1); });
  load("four_sizes", [&](uint64_t) { return make_and_end<Heap>(options, 20); });
  report.measure({{"live/time", "ns"}, {"live/each", "B"}, {"live/left", "B"}, {"live/heaps", "heaps"}},
                 [&](uint64_t) { return keep_heaps<Heap>(options); });
  if constexpr (Heap::kSharing == Sharing::kFree)
    load("shared", [&](uint64_t seed) { return share_a_heap<Heap>(options, options.threads, seed); });
  if constexpr (Heap::kSharing == Sharing::kWithLock)
    load("shared", [&](uint64_t seed) { return share_a_heap<Locked<Heap>>(options, options.threads, seed); });
}

constexpr Program program_of(const char* name) {
  return {
      .name = name,
      .what = "Makes heaps of one's own, allocates in them and ends them. snug-heaps runs it, a process for each load.",
      .figures = R"(LOAD/time in ns, LOAD/peak the process's peak RSS in B.
  requests          a request has a heap of its own: 20 to 400 blocks of 16 B to 4 KiB, a third freed before its end
  requests_threads  the same in --threads threads at once
  query             eight heaps in turns, rows of 64 B to 64 KiB, half of them freed; a row
  document          a heap for a tree of 20,000 nodes and strings, walked once; a block
  one_block         a heap made and ended for one block of 64 B
  four_sizes        the same for 20 blocks of 4 sizes
  live              100,000 heaps with 4 KiB in ten blocks live at once, or as many as fit into 4 GiB: live/heaps;
                    live/each what one takes, live/left what is left of it
  shared            --threads threads share a heap, and free each other's blocks; a replacement)",
      .threads = "of requests_threads and shared",
      .defaults = {.threads = 4, .rounds = 1}};
}

}  // namespace heaps
