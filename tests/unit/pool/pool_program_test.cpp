// Random programs of operations on a pool, beside a model that knows the live elements and what is in them. RapidCheck
// makes the programs and shrinks those that fail; the pool's check() follows each step.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/state.h>
#include <snug/pool.h>
#include <snug/pool_thread_cache.h>

#include <cstring>
#include <map>
#include <vector>

#include "pool/counting_source.h"

namespace snug {
namespace {

// How many elements are live is all that decides which steps are possible.
struct Model {
  size_t live = 0;
};

template <class Threads>
struct Tested {
  Tested(size_t size, size_t alignment, PoolGrowth growth)
      : size(size), pool(size, alignment, growth, CountingSource{&ledger}) {}
  ~Tested() { pool.clear(); }

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
  void free(void* element) {
    verify(element);
    contents.erase(element);
    pool.free(element);
  }
  void compare(const Model& model) {
    const char* const broken = pool.check();
    RC_ASSERT(std::string(broken != nullptr ? broken : "") == "");
    const PoolStats stats = pool.stats();
    RC_ASSERT(stats.live == model.live);
    RC_ASSERT(contents.size() == model.live);
    RC_ASSERT(stats.capacity == stats.live + stats.free + stats.uncarved);
    RC_ASSERT(stats.bytes <= ledger.bytes);
  }

  SourceLedger ledger;
  size_t size;
  Pool<void, Threads, Checked, CountingSource> pool;
  std::map<void*, unsigned char> contents;
  unsigned char stamp = 0;
};

template <class Threads>
using Step = rc::state::Command<Model, Tested<Threads>>;

template <class Threads>
struct Alloc : Step<Threads> {
  void apply(Model& model) const override { ++model.live; }
  void run(const Model& model, Tested<Threads>& tested) const override {
    tested.fill(tested.pool.alloc());
    tested.compare(this->nextState(model));
  }
  void show(std::ostream& os) const override { os << "alloc"; }
};

template <class Threads>
struct AllocBatch : Step<Threads> {
  size_t count = *rc::gen::inRange<size_t>(0, 200);
  void apply(Model& model) const override { model.live += count; }
  void run(const Model& model, Tested<Threads>& tested) const override {
    std::vector<void*> elements(count);
    RC_ASSERT(tested.pool.alloc_batch(elements) == count);
    for (void* element : elements) tested.fill(element);
    tested.compare(this->nextState(model));
  }
  void show(std::ostream& os) const override { os << "alloc_batch " << count; }
};

template <class Threads>
struct Free : Step<Threads> {
  size_t index = *rc::gen::arbitrary<uint16_t>();
  void checkPreconditions(const Model& model) const override { RC_PRE(model.live > 0); }
  void apply(Model& model) const override { --model.live; }
  void run(const Model& model, Tested<Threads>& tested) const override {
    tested.free(tested.pick(index));
    tested.compare(this->nextState(model));
  }
  void show(std::ostream& os) const override { os << "free " << index; }
};

// Frees every n-th element, so that some blocks empty and others do not.
template <class Threads>
struct FreeSome : Step<Threads> {
  size_t every = *rc::gen::inRange<size_t>(1, 5);
  void apply(Model& model) const override { model.live -= (model.live + every - 1) / every; }
  void run(const Model& model, Tested<Threads>& tested) const override {
    std::vector<void*> elements;
    size_t i = 0;
    for (const auto& [element, stamp] : tested.contents)
      if (i++ % every == 0) elements.push_back(element);
    for (void* element : elements) tested.free(element);
    tested.compare(this->nextState(model));
  }
  void show(std::ostream& os) const override { os << "free each " << every << "th"; }
};

template <class Threads>
struct Reserve : Step<Threads> {
  size_t count = *rc::gen::inRange<size_t>(0, 100);
  void run(const Model& model, Tested<Threads>& tested) const override {
    RC_ASSERT(tested.pool.reserve(count));
    const PoolStats stats = tested.pool.stats();
    RC_ASSERT(stats.free + stats.uncarved >= count);
    tested.compare(model);
  }
  void show(std::ostream& os) const override { os << "reserve " << count; }
};

template <class Threads>
struct ReleaseUnused : Step<Threads> {
  void run(const Model& model, Tested<Threads>& tested) const override {
    const size_t before = tested.pool.stats().bytes;
    const size_t given_back = tested.pool.release_unused();
    RC_ASSERT(tested.pool.stats().bytes == before - given_back);
    RC_ASSERT(model.live > 0 || tested.pool.stats().bytes == 0);
    for (const auto& [element, stamp] : tested.contents) tested.verify(element);
    tested.compare(model);
  }
  void show(std::ostream& os) const override { os << "release_unused"; }
};

template <class Threads>
struct Clear : Step<Threads> {
  void apply(Model& model) const override { model.live = 0; }
  void run(const Model& model, Tested<Threads>& tested) const override {
    const size_t capacity = tested.pool.stats().capacity;
    tested.pool.clear();
    tested.contents.clear();
    RC_ASSERT(tested.pool.stats().uncarved == capacity);
    tested.compare(this->nextState(model));
  }
  void show(std::ostream& os) const override { os << "clear"; }
};

template <class Threads>
struct Release : Step<Threads> {
  void apply(Model& model) const override { model.live = 0; }
  void run(const Model& model, Tested<Threads>& tested) const override {
    tested.pool.release();
    tested.contents.clear();
    RC_ASSERT(tested.pool.stats().bytes == 0u);
    tested.compare(this->nextState(model));
  }
  void show(std::ostream& os) const override { os << "release"; }
};

template <class Threads>
struct Visit : Step<Threads> {
  void run(const Model& model, Tested<Threads>& tested) const override {
    std::vector<void*> visited;
    tested.pool.for_each_live([&visited](void* element) { visited.push_back(element); });
    std::vector<void*> expected;
    for (const auto& [element, stamp] : tested.contents) expected.push_back(element);
    const bool all_in_order = visited == expected;
    RC_ASSERT(all_in_order);
    tested.compare(model);
  }
  void show(std::ostream& os) const override { os << "for_each_live"; }
};

template <class Threads>
void run_programs() {
  const bool passed = rc::check([] {
    const size_t size = *rc::gen::element<size_t>(1, 8, 24, 48, 100, 700);
    const size_t alignment = *rc::gen::element<size_t>(1, 8, 16, 64);
    // Many short blocks, or such as are carved piece by piece.
    const bool many = *rc::gen::arbitrary<bool>();
    Tested<Threads> tested(size, alignment, many ? PoolGrowth{256, 4096} : PoolGrowth{20000, 65536});
    using namespace rc::state;
    const auto steps =
        gen::execOneOfWithArgs<Alloc<Threads>, Alloc<Threads>, Alloc<Threads>, AllocBatch<Threads>, Free<Threads>,
                               Free<Threads>, Free<Threads>, FreeSome<Threads>, Reserve<Threads>,
                               ReleaseUnused<Threads>, Clear<Threads>, Release<Threads>, Visit<Threads>>();
    check(Model{}, tested, steps);
  });
  EXPECT_TRUE(passed);
}

TEST(PoolProgram, KeepsAPoolOfOneThreadSound) { run_programs<SingleThread>(); }
TEST(PoolProgram, KeepsALockedPoolSound) { run_programs<Locked>(); }
TEST(PoolProgram, KeepsAThreadCachedPoolSound) { run_programs<ThreadCached>(); }

}  // namespace
}  // namespace snug
