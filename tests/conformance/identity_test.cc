// identity_test.cc: one object serves the whole malloc family and every operator new and delete (global subject only).
#include "subject.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <cstring>

namespace {

constexpr const char* kFunctions[] = {"malloc",
                                      "calloc",
                                      "realloc",
                                      "reallocarray",
                                      "free",
                                      "free_sized",
                                      "free_aligned_sized",
                                      "aligned_alloc",
                                      "posix_memalign",
                                      "memalign",
                                      "valloc",
                                      "pvalloc",
                                      "malloc_usable_size",
                                      "malloc_trim",
                                      "mallinfo",
                                      "mallinfo2",
                                      "malloc_stats",
                                      "malloc_info",
                                      "mallopt",
                                      "cfree"};

// The replaceable forms, as mangled for LP64: size_t is m, align_val_t St11align_val_t, nothrow_t RKSt9nothrow_t.
constexpr const char* kOperators[] = {"_Znwm",
                                      "_ZnwmRKSt9nothrow_t",
                                      "_ZnwmSt11align_val_t",
                                      "_ZnwmSt11align_val_tRKSt9nothrow_t",
                                      "_Znam",
                                      "_ZnamRKSt9nothrow_t",
                                      "_ZnamSt11align_val_t",
                                      "_ZnamSt11align_val_tRKSt9nothrow_t",
                                      "_ZdlPv",
                                      "_ZdlPvm",
                                      "_ZdlPvRKSt9nothrow_t",
                                      "_ZdlPvSt11align_val_t",
                                      "_ZdlPvmSt11align_val_t",
                                      "_ZdlPvSt11align_val_tRKSt9nothrow_t",
                                      "_ZdaPv",
                                      "_ZdaPvm",
                                      "_ZdaPvRKSt9nothrow_t",
                                      "_ZdaPvSt11align_val_t",
                                      "_ZdaPvmSt11align_val_t",
                                      "_ZdaPvSt11align_val_tRKSt9nothrow_t"};

constexpr const char* kOwnFunctions[] = {"snug_malloc",
                                         "snug_calloc",
                                         "snug_realloc",
                                         "snug_reallocarray",
                                         "snug_free",
                                         "snug_free_sized",
                                         "snug_free_aligned_sized",
                                         "snug_aligned_alloc",
                                         "snug_posix_memalign",
                                         "snug_memalign",
                                         "snug_valloc",
                                         "snug_pvalloc",
                                         "snug_malloc_usable_size",
                                         "snug_malloc_trim",
                                         "snug_get_stats",
                                         "snug_mallinfo2",
                                         "snug_malloc_stats",
                                         "snug_malloc_info",
                                         "snug_mallopt",
                                         "snug_check",
                                         "snug_config_get",
                                         "snug_set",
                                         "snug_version"};

TEST(Identity, serves_the_whole_family) {
  SUBJECT_MUST_BE_SNUG();
  for (const char* function : kFunctions) EXPECT_TRUE(subject::owns(function)) << function;
  for (const char* function : kOperators) EXPECT_TRUE(subject::owns(function)) << function;
  for (const char* function : kOwnFunctions) EXPECT_TRUE(subject::owns(function)) << function;
}

// dlsym sees what a library would bind to; this sees what this executable's own calls are bound to.
TEST(Identity, of_the_linked_calls) {
  for (void* address : {reinterpret_cast<void*>(&std::malloc), reinterpret_cast<void*>(&std::free),
                        reinterpret_cast<void*>(&::posix_memalign), reinterpret_cast<void*>(&::malloc_usable_size)}) {
    Dl_info info{};
    ASSERT_NE(dladdr(address, &info), 0);
    EXPECT_STREQ(info.dli_fname, subject::object());
  }
}

// libc's own allocations must come from the same heap: what strdup and getline return is freed by the program.
TEST(Identity, libc_allocates_here_too) {
  SUBJECT_MUST_BE_SNUG();
  snug_stats before{};
  snug_stats after{};
  ASSERT_TRUE(subject::take_stats(before));
  char* copies[200];
  for (char*& copy : copies) copy = ::strdup("a block that libc asked for");
  ASSERT_TRUE(subject::take_stats(after));
  EXPECT_EQ(after.blocks_in_use - before.blocks_in_use, 200u);
  for (char* copy : copies) std::free(copy);
}

TEST(Identity, the_prefixed_names_serve_the_same_heap) {
  SUBJECT_MUST_BE_SNUG();
  auto* prefixed_malloc = reinterpret_cast<decltype(&snug_malloc)>(dlsym(RTLD_DEFAULT, "snug_malloc"));
  auto* prefixed_free = reinterpret_cast<decltype(&snug_free)>(dlsym(RTLD_DEFAULT, "snug_free"));
  ASSERT_NE(prefixed_malloc, nullptr);
  ASSERT_NE(prefixed_free, nullptr);
  std::free(prefixed_malloc(100));
  prefixed_free(std::malloc(100));
  EXPECT_EQ(subject::check(), nullptr);
}

TEST(Cfree, frees) {
  SUBJECT_MUST_BE_SNUG();
  SUBJECT_MUST_OWN("cfree");
  auto* cfree = reinterpret_cast<void (*)(void*)>(dlsym(RTLD_DEFAULT, "cfree"));
  snug_stats before{};
  snug_stats after{};
  ASSERT_TRUE(subject::take_stats(before));
  for (int i = 0; i < 100; ++i) cfree(subject::malloc(3000));
  cfree(nullptr);
  ASSERT_TRUE(subject::take_stats(after));
  EXPECT_EQ(after.blocks_in_use, before.blocks_in_use);
}

TEST(Mallinfo, agrees_with_mallinfo2_while_an_int_suffices) {
  SUBJECT_MUST_BE_SNUG();
  SUBJECT_MUST_OWN("mallinfo");
  void* block = subject::malloc(1'000'000);
  auto* old_mallinfo = reinterpret_cast<struct mallinfo (*)()>(dlsym(RTLD_DEFAULT, "mallinfo"));
  const struct mallinfo narrow = old_mallinfo();
  const subject::MallocInfo wide = subject::mallinfo2();
  EXPECT_EQ(static_cast<std::size_t>(narrow.uordblks), wide.uordblks);
  EXPECT_EQ(static_cast<std::size_t>(narrow.hblkhd), wide.hblkhd);
  EXPECT_EQ(static_cast<std::size_t>(narrow.arena), wide.arena);
  EXPECT_GE(static_cast<std::size_t>(narrow.uordblks) + static_cast<std::size_t>(narrow.hblkhd), 1'000'000u);
  subject::free(block);
}

}  // namespace
