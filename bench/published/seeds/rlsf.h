// Rlsf: TLSF of the crate rlsf, called as directly as the cell heap: over one pool, without a lock and without malloc's
// manners. Its functions are those of the library that `bench/harness/allocators/fetch tlsf` builds out of tlsf_shim/,
// which the variable SEEDS_RLSF names; without it there are no such heaps.
//
// An operation is one call, by the address of the library's function.
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdlib>
#include <string>

namespace seeds {

class Rlsf {
 public:
  static inline void* (*take)(Rlsf& heap, size_t bytes) = nullptr;
  static inline void (*give)(Rlsf& heap, void* block) = nullptr;

  // Before any heap. Returns why the library that is named cannot be had; empty if it can, or if none is.
  static std::string load() {
    const char* const file = std::getenv("SEEDS_RLSF");
    if (file == nullptr) return {};
    void* const library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return std::string("SEEDS_RLSF: ") + dlerror();
    size_t (*state_bytes)() = nullptr;
    const bool has_all = find(library, "rlsf_state_bytes", state_bytes) && find(library, "rlsf_open", open_) &&
                         find(library, "rlsf_allocate", take) && find(library, "rlsf_free", give);
    if (!has_all || state_bytes() > kStateBytes)
      return std::string("SEEDS_RLSF: ") + file +
             " is no library of this tree's tlsf_shim: bench/harness/allocators/fetch tlsf";
    return {};
  }
  static bool is_there() { return take != nullptr; }

  // The pool is the caller's, and stays as long as the heap is used.
  Rlsf(void* pool, size_t bytes) : is_open_(open_(state_, pool, bytes)) {}
  Rlsf(const Rlsf&) = delete;
  Rlsf& operator=(const Rlsf&) = delete;
  bool is_open() const { return is_open_; }

  void* allocate(size_t bytes) { return take(*this, bytes); }
  void deallocate(void* block) { give(*this, block); }
  static const char* check() { return nullptr; }

 private:
  static constexpr size_t kStateBytes = size_t{16} << 10;

  template <class Function>
  static bool find(void* library, const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    return function != nullptr;
  }

  static inline bool (*open_)(void* state, void* pool, size_t bytes) = nullptr;

  alignas(64) unsigned char state_[kStateBytes];  // first: where the heap is, the library's state is
  bool is_open_;
};

}  // namespace seeds
