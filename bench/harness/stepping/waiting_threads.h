// WaitingThreads: threads that have done something, and wait until the object ends.
#pragma once

#include <atomic>
#include <thread>
#include <vector>

namespace snug {

class WaitingThreads {
 public:
  // Returns when each has done `use`.
  template <class Use>
  WaitingThreads(unsigned count, Use use) {
    std::atomic<unsigned> ready{0};
    for (unsigned t = 0; t < count; ++t) {
      threads_.emplace_back([&, this] {
        use();
        ready.fetch_add(1);
        ready.notify_all();
        over_.wait(false);
      });
    }
    for (unsigned seen = ready.load(); seen != count; seen = ready.load()) ready.wait(seen);
  }
  ~WaitingThreads() {
    over_.store(true);
    over_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  WaitingThreads(const WaitingThreads&) = delete;
  WaitingThreads& operator=(const WaitingThreads&) = delete;

 private:
  std::atomic<bool> over_{false};
  std::vector<std::thread> threads_;
};

}  // namespace snug
