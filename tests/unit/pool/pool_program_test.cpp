// Random programs of operations on a pool, beside a model that knows the live elements and what is in them. RapidCheck
// makes the programs and shrinks those that fail; the pool's check() follows each step.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/state.h>
#include <snug/pool.h>
#include <snug/pool_thread_cache.h>

#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "pool/counting_source.h"

namespace snug {
namespace {

// How many elements are live is all that decides which steps are possible.
struct Model {
  size_t live = 0;
};

// A pool of any policy, so that RapidCheck's templates are compiled for one type and not for each.
struct AnyPool {
  virtual ~AnyPool() = default;
  virtual void* allocate() = 0;
  virtual size_t allocate_batch(std::span<void*> out) = 0;
  virtual void deallocate(void* element) = 0;
  virtual bool reserve(size_t count) = 0;
  virtual size_t release_unused() = 0;
  virtual void drop_all() = 0;
  virtual void drop_all_and_release() = 0;
  virtual PoolStats stats() = 0;
  virtual const char* check() = 0;
  virtual std::vector<void*> live() = 0;
};

template <class Threads, class Checks>
struct PoolOf final : AnyPool {
  PoolOf(size_t size, size_t alignment, PoolGrowth growth, CountingSource source)
      : pool(size, alignment, growth, source) {}
  void* allocate() override { return pool.allocate(); }
  size_t allocate_batch(std::span<void*> out) override { return pool.allocate_batch(out); }
  void deallocate(void* element) override { pool.deallocate(element); }
  bool reserve(size_t count) override { return pool.reserve(count); }
  size_t release_unused() override { return pool.release_unused(); }
  void drop_all() override { pool.drop_all(); }
  void drop_all_and_release() override { pool.drop_all_and_release(); }
  PoolStats stats() override { return pool.stats(); }
  const char* check() override { return pool.check(); }
  std::vector<void*> live() override {
    std::vector<void*> visited;
    pool.for_each_live([&visited](void* element) { visited.push_back(element); });
    return visited;
  }
  Pool<void, Threads, Checks, CountingSource> pool;
};

using MakePool = std::unique_ptr<AnyPool> (*)(size_t size, size_t alignment, PoolGrowth, CountingSource);

struct Tested {
  Tested(MakePool make, size_t size, size_t alignment, PoolGrowth growth)
      : size(size), pool(make(size, alignment, growth, CountingSource{&ledger})) {}
  ~Tested() { pool->drop_all(); }

  void fill(void* element) {
    // RapidCheck cannot show what a void* points to, so it gets truths.
    const bool is_new = element != nullptr && contents.emplace(element, ++stamp).second;
    RC_ASSERT(is_new);
    std::memset(element, stamp, size);
  }
  void verify(void* element) const {
    const unsigned char expected = contents.at(element);
    for (size_t i = 0; i < size; ++i) RC_ASSERT(static_cast<unsigned char*>(element)[i] == expected);
  }
  void* pick(size_t index) const {
    auto at = contents.begin();
    std::advance(at, static_cast<std::ptrdiff_t>(index % contents.size()));
    return at->first;
  }
  void deallocate(void* element) {
    verify(element);
    contents.erase(element);
    pool->deallocate(element);
  }
  void compare(const Model& model) {
    const char* const broken = pool->check();
    RC_ASSERT(std::string(broken != nullptr ? broken : "") == "");
    const PoolStats stats = pool->stats();
    RC_ASSERT(stats.live == model.live);
    RC_ASSERT(contents.size() == model.live);
    RC_ASSERT(stats.capacity == stats.live + stats.free + stats.uncarved);
    RC_ASSERT(stats.bytes <= ledger.bytes);
  }

  SourceLedger ledger;
  size_t size;
  std::unique_ptr<AnyPool> pool;
  std::map<void*, unsigned char> contents;
  unsigned char stamp = 0;
};

using Step = rc::state::Command<Model, Tested>;

struct Allocate : Step {
  void apply(Model& model) const override { ++model.live; }
  void run(const Model& model, Tested& tested) const override {
    tested.fill(tested.pool->allocate());
    tested.compare(nextState(model));
  }
  void show(std::ostream& os) const override { os << "allocate"; }
};

struct AllocateBatch : Step {
  size_t count = *rc::gen::inRange<size_t>(0, 200);
  void apply(Model& model) const override { model.live += count; }
  void run(const Model& model, Tested& tested) const override {
    std::vector<void*> elements(count);
    RC_ASSERT(tested.pool->allocate_batch(elements) == count);
    for (void* element : elements) tested.fill(element);
    tested.compare(nextState(model));
  }
  void show(std::ostream& os) const override { os << "allocate_batch " << count; }
};

struct Deallocate : Step {
  size_t index = *rc::gen::arbitrary<uint16_t>();
  void checkPreconditions(const Model& model) const override { RC_PRE(model.live > 0); }
  void apply(Model& model) const override { --model.live; }
  void run(const Model& model, Tested& tested) const override {
    tested.deallocate(tested.pick(index));
    tested.compare(nextState(model));
  }
  void show(std::ostream& os) const override { os << "deallocate " << index; }
};

// Frees every n-th element, so that some blocks empty and others do not.
struct DeallocateSome : Step {
  size_t every = *rc::gen::inRange<size_t>(1, 5);
  void apply(Model& model) const override { model.live -= (model.live + every - 1) / every; }
  void run(const Model& model, Tested& tested) const override {
    std::vector<void*> elements;
    size_t i = 0;
    for (const auto& [element, stamp] : tested.contents)
      if (i++ % every == 0) elements.push_back(element);
    for (void* element : elements) tested.deallocate(element);
    tested.compare(nextState(model));
  }
  void show(std::ostream& os) const override { os << "deallocate each " << every << "th"; }
};

struct Reserve : Step {
  size_t count = *rc::gen::inRange<size_t>(0, 100);
  void run(const Model& model, Tested& tested) const override {
    RC_ASSERT(tested.pool->reserve(count));
    const PoolStats stats = tested.pool->stats();
    RC_ASSERT(stats.free + stats.uncarved >= count);
    tested.compare(model);
  }
  void show(std::ostream& os) const override { os << "reserve " << count; }
};

struct ReleaseUnused : Step {
  void run(const Model& model, Tested& tested) const override {
    const size_t before = tested.pool->stats().bytes;
    const size_t given_back = tested.pool->release_unused();
    RC_ASSERT(tested.pool->stats().bytes == before - given_back);
    RC_ASSERT(model.live > 0 || tested.pool->stats().bytes == 0);
    for (const auto& [element, stamp] : tested.contents) tested.verify(element);
    tested.compare(model);
  }
  void show(std::ostream& os) const override { os << "release_unused"; }
};

struct DropAll : Step {
  void apply(Model& model) const override { model.live = 0; }
  void run(const Model& model, Tested& tested) const override {
    const size_t capacity = tested.pool->stats().capacity;
    tested.pool->drop_all();
    tested.contents.clear();
    RC_ASSERT(tested.pool->stats().uncarved == capacity);
    tested.compare(nextState(model));
  }
  void show(std::ostream& os) const override { os << "drop_all"; }
};

struct DropAllAndRelease : Step {
  void apply(Model& model) const override { model.live = 0; }
  void run(const Model& model, Tested& tested) const override {
    tested.pool->drop_all_and_release();
    tested.contents.clear();
    RC_ASSERT(tested.pool->stats().bytes == 0u);
    tested.compare(nextState(model));
  }
  void show(std::ostream& os) const override { os << "drop_all_and_release"; }
};

struct Visit : Step {
  void run(const Model& model, Tested& tested) const override {
    const std::vector<void*> visited = tested.pool->live();
    std::vector<void*> expected;
    for (const auto& [element, stamp] : tested.contents) expected.push_back(element);
    const bool all_in_order = visited == expected;
    RC_ASSERT(all_in_order);
    tested.compare(model);
  }
  void show(std::ostream& os) const override { os << "for_each_live"; }
};

void run_programs(MakePool make) {
  const bool passed = rc::check([make] {
    const size_t size = *rc::gen::element<size_t>(1, 8, 24, 48, 100, 700);
    const size_t alignment = *rc::gen::element<size_t>(1, 8, 16, 64);
    // Many short blocks, or such as are carved piece by piece.
    const bool many = *rc::gen::arbitrary<bool>();
    Tested tested(make, size, alignment, many ? PoolGrowth{256, 4096} : PoolGrowth{20000, 65536});
    using namespace rc::state;
    const auto steps =
        gen::execOneOfWithArgs<Allocate, Allocate, Allocate, AllocateBatch, Deallocate, Deallocate, Deallocate,
                               DeallocateSome, Reserve, ReleaseUnused, DropAll, DropAllAndRelease, Visit>();
    check(Model{}, tested, steps);
  });
  EXPECT_TRUE(passed);
}

template <class Threads, class Checks>
void run_programs() {
  const MakePool make = [](size_t size, size_t alignment, PoolGrowth growth, CountingSource source) {
    return std::unique_ptr<AnyPool>(new PoolOf<Threads, Checks>(size, alignment, growth, source));
  };
  run_programs(make);
}
TEST(PoolProgram, KeepsAPoolOfOneThreadSound) { run_programs<SingleThread, Checked>(); }
TEST(PoolProgram, KeepsALockedPoolSound) { run_programs<Locked, Checked>(); }
TEST(PoolProgram, KeepsAThreadCachedPoolSound) { run_programs<ThreadCached, Unchecked>(); }
TEST(PoolProgram, KeepsACheckedThreadCachedPoolSound) { run_programs<ThreadCached, Checked>(); }

}  // namespace
}  // namespace snug
