// walk_stack() through code without frame pointers, beside glibc's backtrace().
#include <features.h>

#include "unwind/stack_walk.h"
#include "unwind/walked_calls.h"

#if defined(__x86_64__) && defined(__GLIBC__) && __GLIBC_PREREQ(2, 35)

#include <execinfo.h>
#include <sys/mman.h>

#include <algorithm>
#include <csignal>

#include "unwind/known_rules.h"

namespace snug::unwind {
namespace {

constexpr size_t kMost = 256;

uintptr_t walked[kMost];
void* traced[kMost];
Walked result;
KnownRules<11> known_rules;
int traced_count;

[[gnu::noinline]] void take_both() {
  result = walk_stack(__builtin_frame_address(0), walked, kMost, known_rules, 1);
  traced_count = backtrace(traced, kMost);
  asm volatile("" : : : "memory");
}

// The calls as they were walked, and as backtrace() tells them.
struct Told {
  std::vector<uintptr_t> calls;
  std::vector<uintptr_t> expected;
};

Told take(const std::vector<uint8_t>& kinds) {
  walked::call_next({kinds.data(), kinds.size(), take_both});
  Told told;
  told.calls.assign(walked, walked + result.count);
  for (uintptr_t& call : told.calls) ++call;
  // backtrace() begins within take_both(), or with AddressSanitizer within backtrace() itself.
  const auto begin = std::find(traced, traced + traced_count, reinterpret_cast<void*>(told.calls[0]));
  const auto traces = reinterpret_cast<const uintptr_t*>(begin);
  told.expected.assign(traces, traces + (traced + traced_count - begin));
  return told;
}

void expect_the_same(const std::vector<uint8_t>& kinds) {
  const auto [calls, expected] = take(kinds);
  RC_ASSERT(calls == expected);
  RC_ASSERT(calls.size() > kinds.size());
}

RC_GTEST_PROP(StackWalkTest, TellsWhatBacktraceDoes, ()) {
  const size_t count = *rc::gen::inRange<size_t>(0, 60);
  expect_the_same(*rc::gen::container<std::vector<uint8_t>>(count, rc::gen::inRange<uint8_t>(0, walked::kKinds)));
}

TEST(StackWalkTest, EndsWhereAThreadBegins) {
  const std::vector<uint8_t> kinds = {0, 4, 6, 1};
  std::thread([&] { EXPECT_TRUE(rc::check([&] { expect_the_same(kinds); })); }).join();
}

// The walk knows nothing of the kernel's frame between a signal's handler and what it interrupts, and would tell calls
// that never were.
TEST(StackWalkTest, EndsAtASignal) {
  traced_count = backtrace(traced, kMost);
  const auto walk = [](int) { result = walk_stack(__builtin_frame_address(0), walked, kMost, known_rules, 1); };
  const auto before = std::signal(SIGUSR1, walk);
  std::raise(SIGUSR1);
  std::signal(SIGUSR1, before);
  EXPECT_EQ(result.end, WalkEnd::kUnknown);
  EXPECT_LT(result.count, static_cast<uint32_t>(traced_count));
}

TEST(StackWalkTest, ReturnsAtMostSoMany) {
  const std::vector<uint8_t> kinds(20, 0);
  walked::call_next({kinds.data(), kinds.size(), [] {
                       uintptr_t frames[4] = {0, 0, 0, 7};
                       result = walk_stack(__builtin_frame_address(0), frames, 3, known_rules, 1);
                       EXPECT_EQ(frames[3], 7u);
                     }});
  EXPECT_EQ(result.count, 3u);
  EXPECT_EQ(result.end, WalkEnd::kNotYet);
}

// Code of no module, which a JIT compiler could have written. It calls its second parameter with the first.
class MadeCode {
 public:
  explicit MadeCode(const std::vector<uint8_t>& bytes)
      : memory_(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    std::copy(bytes.begin(), bytes.end(), static_cast<uint8_t*>(memory_));
  }
  ~MadeCode() { munmap(memory_, kBytes); }
  MadeCode(const MadeCode&) = delete;
  MadeCode& operator=(const MadeCode&) = delete;

  void call(const walked::Calls& calls) const {
    reinterpret_cast<void (*)(const walked::Calls&, int (*)(const walked::Calls&))>(memory_)(calls, walked::call_next);
  }
  bool has(uintptr_t address) const { return address - reinterpret_cast<uintptr_t>(memory_) < kBytes; }

 private:
  static constexpr size_t kBytes = 4096;
  void* memory_;
};

// The calls outside of the code are those that backtrace() tells where nothing was called through it.
[[gnu::noinline]] void expect_a_walk_through(const MadeCode& code, const std::vector<uint8_t>& kinds) {
  asm volatile("" : : "r"(__builtin_frame_address(0)));  // by the frame pointer, which the code has to leave as it was
  traced_count = backtrace(traced, kMost);
  const std::vector<void*> outside(std::find(traced, traced + traced_count, __builtin_return_address(0)),
                                   traced + traced_count);
  ASSERT_FALSE(outside.empty());
  code.call({kinds.data(), kinds.size(),
             [] { result = walk_stack(__builtin_frame_address(0), walked, kMost, known_rules, 1); }});
  const std::vector<uintptr_t> calls(walked, walked + result.count);
  const auto made = std::find_if(calls.begin(), calls.end(), [&](uintptr_t call) { return code.has(call); });
  ASSERT_NE(made, calls.end());
  ASSERT_GE(static_cast<size_t>(calls.end() - made), outside.size());
  for (size_t i = 0; i != outside.size(); ++i)
    EXPECT_EQ((calls.end() - outside.size())[i] + 1, reinterpret_cast<uintptr_t>(outside[i]));
}

TEST(StackWalkTest, GoesThroughCodeThatNoTableTellsOf) {
  const MadeCode as_cpythons(
      {0x48, 0x83, 0xec, 0x08, 0xff, 0xd6, 0x48, 0x83, 0xc4, 0x08, 0xc3});  // sub, call, add, ret
  const MadeCode that_pushes({0x55, 0x41, 0x54, 0x53, 0x31, 0xed, 0xff, 0xd6, 0x5b, 0x41, 0x5c, 0x5d, 0xc3});
  const MadeCode with_a_frame_pointer({0x55, 0x48, 0x89, 0xe5, 0xff, 0xd6, 0x31, 0xc0, 0x5d, 0xc3});
  // Its function calls another one with the stack aligned to a word alone, as V8's do.
  const MadeCode of_two({0x55, 0x48, 0x89, 0xe5, 0x53, 0xe8, 0x03, 0x00, 0x00, 0x00, 0x5b, 0x5d, 0xc3,  //
                         0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x08, 0xff, 0xd6, 0x31, 0xc0, 0xc9, 0xc3});
  for (const MadeCode* const code : {&as_cpythons, &that_pushes, &with_a_frame_pointer, &of_two})
    for (uint8_t kind = 0; kind != walked::kKinds; ++kind) expect_a_walk_through(*code, {kind});
}

TEST(FrameRuleTest, KnowsNothingOfWhatIsNoMemory) {
  for (const uintptr_t address : {uintptr_t{0}, uintptr_t{1}, ~uintptr_t{0}, uintptr_t{1} << 63})
    EXPECT_EQ(find_frame_rule(address).end, FrameRule::End::kUnknown);
}

}  // namespace
}  // namespace snug::unwind

#endif
