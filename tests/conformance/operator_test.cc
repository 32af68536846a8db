// operator_test.cc: every replaceable form of operator new and operator delete (global subject only).
//
// The operators are called by name, through volatile pointers where the compiler could pair and drop them.
#include "pattern.h"
#include "sizes.h"
#include "subject.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdint>
#include <new>
#include <vector>

namespace {

using std::align_val_t;
using std::nothrow;

struct NewForm {
  const char* name;
  void* (*allocate)(std::size_t size, std::size_t alignment);
  bool is_aligned;
  bool throws;
};

struct DeleteForm {
  const char* name;
  void (*release)(void* block, std::size_t size, std::size_t alignment);
  bool is_aligned;
};

using Size = std::size_t;

constexpr NewForm kNewForms[] = {
    {"new", [](Size size, Size) { return ::operator new(size); }, false, true},
    {"new nothrow", [](Size size, Size) { return ::operator new(size, nothrow); }, false, false},
    {"new aligned", [](Size size, Size a) { return ::operator new(size, align_val_t{a}); }, true, true},
    {"new aligned nothrow", [](Size size, Size a) { return ::operator new(size, align_val_t{a}, nothrow); }, true,
     false},
    {"new[]", [](Size size, Size) { return ::operator new[](size); }, false, true},
    {"new[] nothrow", [](Size size, Size) { return ::operator new[](size, nothrow); }, false, false},
    {"new[] aligned", [](Size size, Size a) { return ::operator new[](size, align_val_t{a}); }, true, true},
    {"new[] aligned nothrow", [](Size size, Size a) { return ::operator new[](size, align_val_t{a}, nothrow); }, true,
     false},
};

constexpr DeleteForm kDeleteForms[] = {
    {"delete", [](void* block, Size, Size) { ::operator delete(block); }, false},
    {"delete sized", [](void* block, Size size, Size) { ::operator delete(block, size); }, false},
    {"delete nothrow", [](void* block, Size, Size) { ::operator delete(block, nothrow); }, false},
    {"delete aligned", [](void* block, Size, Size a) { ::operator delete(block, align_val_t{a}); }, true},
    {"delete sized aligned", [](void* block, Size size, Size a) { ::operator delete(block, size, align_val_t{a}); },
     true},
    {"delete aligned nothrow", [](void* block, Size, Size a) { ::operator delete(block, align_val_t{a}, nothrow); },
     true},
    {"delete[]", [](void* block, Size, Size) { ::operator delete[](block); }, false},
    {"delete[] sized", [](void* block, Size size, Size) { ::operator delete[](block, size); }, false},
    {"delete[] nothrow", [](void* block, Size, Size) { ::operator delete[](block, nothrow); }, false},
    {"delete[] aligned", [](void* block, Size, Size a) { ::operator delete[](block, align_val_t{a}); }, true},
    {"delete[] sized aligned", [](void* block, Size size, Size a) { ::operator delete[](block, size, align_val_t{a}); },
     true},
    {"delete[] aligned nothrow", [](void* block, Size, Size a) { ::operator delete[](block, align_val_t{a}, nothrow); },
     true},
};

constexpr std::size_t kImpossible[] = {PTRDIFF_MAX, std::size_t{PTRDIFF_MAX} - 4096, SIZE_MAX, SIZE_MAX - 64};

TEST(OperatorNew, meets_every_operator_delete) {
  snug_stats before{};
  snug_stats after{};
  const bool counted = subject::take_stats(before);
  for (const NewForm& new_form : kNewForms)
    for (const DeleteForm& delete_form : kDeleteForms) {
      if (new_form.is_aligned != delete_form.is_aligned) continue;
      for (const std::size_t size : {0, 1, 16, 100, 1000, 5000, 100000, 2000000}) {
        const std::size_t alignment = new_form.is_aligned ? 64 : alignof(std::max_align_t);
        void* block = new_form.allocate(size, alignment);
        ASSERT_NE(block, nullptr) << new_form.name;
        ASSERT_TRUE(pattern::aligned(block, alignment)) << new_form.name;
        pattern::fill(block, size, 1);
        delete_form.release(block, size, alignment);
      }
    }
  if (counted && subject::take_stats(after)) {
    EXPECT_LE(after.blocks_in_use, before.blocks_in_use + 16);
    EXPECT_GE(after.allocations - before.allocations, 4u * 6u * 2u * 8u) << "the operators do not reach snug";
  }
}

TEST(OperatorNew, aligns) {
  for (const NewForm& form : kNewForms) {
    if (!form.is_aligned) continue;
    for (std::size_t alignment = 8; alignment <= 2 * sizes::kMiB; alignment *= 2)
      for (const std::size_t size : {0, 1, 100, 4097, 300000}) {
        void* block = form.allocate(size, alignment);
        ASSERT_NE(block, nullptr) << form.name;
        ASSERT_TRUE(pattern::aligned(block, alignment)) << form.name << ' ' << alignment << ' ' << size;
        pattern::fill(block, size, 1);
        ::operator delete(block, align_val_t{alignment});
      }
  }
}

TEST(OperatorNew, keeps_live_blocks_apart) {
  std::vector<void*> blocks;
  for (int round = 0; round < 50; ++round)
    for (const NewForm& form : kNewForms) {
      blocks.push_back(form.allocate(72, 64));
      pattern::fill(blocks.back(), 72, blocks.size());
    }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    EXPECT_TRUE(pattern::intact(blocks[i], 72, i + 1));
    // Which delete is right depends on the form; all of ours end in one free.
    if (kNewForms[i % std::size(kNewForms)].is_aligned)
      ::operator delete(blocks[i], align_val_t{64});
    else
      ::operator delete(blocks[i]);
  }
}

TEST(OperatorNew, throws_bad_alloc_or_returns_null) {
  for (const NewForm& form : kNewForms)
    for (const std::size_t size : kImpossible) {
      // GCC 12's own aligned forms round SIZE_MAX up to 0 and serve it.
      if (form.is_aligned && size > PTRDIFF_MAX && subject::kind() != subject::Kind::kSnug) continue;
      if (form.throws)
        EXPECT_THROW(form.allocate(size, 64), std::bad_alloc) << form.name << ' ' << size;
      else
        EXPECT_EQ(form.allocate(size, 64), nullptr) << form.name << ' ' << size;
    }
}

// Through the language: the compiler computes the size, calls, unwinds.
struct Counted {
  static int alive;
  Counted() { ++alive; }
  ~Counted() { --alive; }
  char bytes[24]{};
};
int Counted::alive = 0;

struct alignas(256) Overaligned {
  char bytes[300];
};

TEST(NewExpression, builds_and_destroys_arrays) {
  volatile std::size_t count = 1000;
  auto* array = new Counted[count];
  EXPECT_EQ(Counted::alive, 1000);
  delete[] array;
  EXPECT_EQ(Counted::alive, 0);
  volatile std::size_t none = 0;
  auto* first = new Counted[none];
  auto* second = new Counted[none];
  EXPECT_NE(first, nullptr);
  EXPECT_NE(first, second) << "arrays of no elements are distinct objects";
  delete[] first;
  delete[] second;
}

TEST(NewExpression, honours_overalignment) {
  volatile std::size_t count = 7;
  auto* one = new Overaligned;
  auto* many = new Overaligned[count];
  // Through volatile numbers: what the type promises of its pointers, a compiler takes for granted.
  volatile auto address_of_one = reinterpret_cast<std::uintptr_t>(one);
  volatile auto address_of_many = reinterpret_cast<std::uintptr_t>(many);
  EXPECT_EQ(address_of_one % 256, 0u);
  EXPECT_EQ(address_of_many % 256, 0u);
  delete one;
  delete[] many;
}

TEST(NewExpression, throws_through_destructors) {
  volatile std::size_t impossible = PTRDIFF_MAX;
  try {
    Counted guard;
    EXPECT_EQ(Counted::alive, 1);
    char* block = new char[impossible];
    delete[] block;
    FAIL() << "served PTRDIFF_MAX bytes";
  } catch (const std::bad_alloc&) {
  }
  EXPECT_EQ(Counted::alive, 0);
  EXPECT_EQ(new (nothrow) char[impossible], nullptr);
}

TEST(NewForms, refuse_alignments_that_are_no_power_of_two) {
  for (const NewForm& form : kNewForms) {
    if (!form.is_aligned) continue;
    for (const std::size_t alignment : {0, 3, 24, 48, 96, 1000, 5000, 3000000})
      for (const std::size_t size : {1, 100, 5000, 3000000}) {
        void* block = nullptr;
        bool thrown = false;
        try {
          block = form.allocate(size, alignment);
        } catch (const std::bad_alloc&) {
          thrown = true;
        }
        EXPECT_EQ(block, nullptr) << form.name << ' ' << size << " at " << alignment;
        EXPECT_EQ(thrown, form.throws) << form.name << ' ' << size << " at " << alignment;
      }
  }
}

TEST(OperatorDelete, ignores_null) {
  for (const DeleteForm& form : kDeleteForms) form.release(nullptr, 100, 64);
  // Again and again, where an allocator might keep it for a block.
  for (std::size_t size = 0; size < 80000; size += size < 3000 ? 1 : 100) {
    void* first = ::operator new(size);
    ::operator delete(::operator new(size));
    for (const DeleteForm& form : kDeleteForms) form.release(nullptr, size, 64);
    void* second = ::operator new(size);
    ASSERT_NE(first, nullptr);
    ASSERT_NE(second, nullptr);
    ASSERT_NE(first, second);
    ::operator delete(first, size);
    ::operator delete(second, size);
  }
  for (const std::size_t size : kImpossible)
    for (const DeleteForm& form : kDeleteForms) form.release(nullptr, size, 64);
}

// A size leads to the blocks of its own class and no other's, at every step.
TEST(OperatorDelete, takes_each_block_by_its_size) {
  for (std::size_t size = 0; size <= 70000; ++size) {
    void* blocks[3];
    for (void*& block : blocks) block = ::operator new(size);
    for (std::size_t i = 0; i < 3; ++i) pattern::fill(blocks[i], size, size + i);
    for (std::size_t i = 0; i < 3; ++i) {
      ASSERT_TRUE(pattern::intact(blocks[i], size, size + i)) << size;
      ::operator delete(blocks[i], size);
    }
    if (size % 256 == 0) subject::malloc_trim(0);  // sends home what lies in the wrong array
  }
  subject::malloc_trim(0);
  EXPECT_EQ(subject::check(), nullptr);
}

TEST(OperatorDelete, keeps_errno) {
  for (const DeleteForm& form : kDeleteForms)
    for (const std::size_t size : {16, 1000, 50000, 2000000, 30000000}) {
      void* block = form.is_aligned ? ::operator new(size, align_val_t{64}) : ::operator new(size);
      errno = 4711;
      form.release(block, size, 64);
      EXPECT_EQ(errno, 4711) << form.name << ' ' << size;
    }
}

}  // namespace
