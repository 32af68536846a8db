// A soft limit in C++: an owner of the callback, and a map that is cleared when memory runs short.
#include <snug/limits.h>

#include <cstdio>
#include <map>
#include <memory_resource>
#include <mutex>
#include <string>
#include <vector>

namespace {

// Results that can be made again. The callback runs inside malloc, perhaps of a thread that holds the lock.
class Results {
 public:
  explicit Results(snug_heap* heap) : heap_(heap) { snug_on_pressure(shrink, this, SNUG_PRESSURE_ALL); }
  ~Results() {
    snug_on_pressure(shrink, this, 0);
    clear();
  }
  Results(const Results&) = delete;
  Results& operator=(const Results&) = delete;

  void keep(int key) {
    const std::lock_guard guard(mutex_);
    if (void* const block = snug_heap_malloc(heap_, 10'000)) blocks_.push_back(block), last_ = key;
  }
  int clears() const { return clears_; }
  int last() const { return last_; }

 private:
  static int shrink(const snug_pressure* pressure, void* self) {
    auto& results = *static_cast<Results*>(self);
    if (pressure->heap != results.heap_) return 0;
    ++results.clears_;
    return results.clear() ? 1 : 0;
  }
  // Called by keep() in the same thread, under its lock, and by no other thread in this program.
  bool clear() {
    const bool any = !blocks_.empty();
    for (void* block : blocks_) snug_free(block);
    blocks_.clear();
    return any;
  }

  snug_heap* const heap_;
  std::mutex mutex_;
  std::vector<void*> blocks_;
  int clears_ = 0;
  int last_ = -1;
};

}  // namespace

int main() {
  snug_heap_options options{};
  options.size = sizeof options;
  options.name = "results";
  options.limit = 4 << 20;
  snug_heap* const heap = snug_heap_create(&options);
  int failed = 0;
  {
    Results results(heap);
    for (int key = 0; key != 2000; ++key) results.keep(key);
    std::printf("cleared %d times\n", results.clears());
    failed = results.clears() == 0 || results.last() != 1999;
  }
  snug_heap_destroy(heap);
  return failed;
}
