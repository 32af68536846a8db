// work_bench.h: a thread that does what it is given, piece by piece, and ends with its object.
#pragma once

#include <atomic>
#include <functional>
#include <thread>
#include <utility>

namespace snug {

class WorkBench {
 public:
  WorkBench() : thread_([this] { serve(); }) {}
  ~WorkBench() {
    state_.wait(kGiven);  // for what was started
    work_ = nullptr;
    announce(kGiven);
    thread_.join();
  }
  WorkBench(const WorkBench&) = delete;
  WorkBench& operator=(const WorkBench&) = delete;

  // Returns when the work is done.
  void run(std::function<void()> work) {
    start(std::move(work));
    state_.wait(kGiven);
  }
  // Returns at once; nothing else may be given before that is done.
  void start(std::function<void()> work) {
    work_ = std::move(work);
    announce(kGiven);
  }

 private:
  enum State : int { kIdle, kGiven };

  void announce(State state) {
    state_.store(state);
    state_.notify_all();
  }
  void serve() {
    for (;;) {
      state_.wait(kIdle);
      if (work_ == nullptr) return;
      work_();
      announce(kIdle);
    }
  }

  std::function<void()> work_;
  std::atomic<int> state_{kIdle};
  std::thread thread_;
};

}  // namespace snug
