// What is written for people to read: whole, though a signal handler runs meanwhile.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "base/fatal.h"
#include "os/appended_file.h"
#include "os/system_call_hook.h"

namespace snug::os {
namespace {

// The first two are interrupted before a byte is out.
class InterruptedWrites {
 public:
  int calls() const { return calls_; }

 private:
  int calls_ = 0;
  unit::SystemCallHook hook_{SYS_write, [this] { return ++calls_ > 2; }, EINTR};
};

TEST(Output, ALineIsWrittenThoughASignalComes) {
  testing::internal::CaptureStderr();
  {
    const InterruptedWrites interrupted;
    write_line("line\n", 5);
    EXPECT_EQ(interrupted.calls(), 3);
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "line\n");
}

// A pipe that is full takes a part, and the rest once a reader has come: which is after the signal. One signal is
// enough, and no more may be waited for: TSan runs a handler after the writer's raw calls, not between them.
TEST(Output, ALongLineIsWhole) {
  const std::string path = testing::TempDir() + "snug_output_test.pipe." + std::to_string(getpid());
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  static std::atomic<int> signals;
  signals = 0;
  struct sigaction counting{};
  struct sigaction usual{};
  counting.sa_handler = [](int) { ++signals; };
  sigaction(SIGUSR1, &counting, &usual);
  const int reader = open(path.c_str(), O_RDONLY | O_NONBLOCK);
  const pthread_t writer = pthread_self();
  std::string line;
  std::thread reads([&] {
    char bytes[4096];
    // The pipe holds no more: the writer is in its first call.
    for (int waiting = 0; waiting < 65536; std::this_thread::yield()) ioctl(reader, FIONREAD, &waiting);
    pthread_kill(writer, SIGUSR1);
    for (ssize_t got = -1; got != 0; got = read(reader, bytes, sizeof bytes))
      if (got > 0) line.append(bytes, static_cast<size_t>(got));
  });
  const std::string sent = std::string(200'000, 'x') + '\n';
  EXPECT_TRUE(append_to_file(path.c_str(), sent.data(), sent.size()));
  reads.join();
  EXPECT_EQ(line, sent);
  EXPECT_EQ(signals, 1);
  sigaction(SIGUSR1, &usual, nullptr);
  close(reader);
  std::remove(path.c_str());
}

TEST(Output, AFileIsAppendedToThoughASignalComes) {
  const std::string path = testing::TempDir() + "snug_output_test." + std::to_string(getpid());
  {
    const InterruptedWrites interrupted;
    EXPECT_TRUE(append_to_file(path.c_str(), "line\n", 5));
    EXPECT_EQ(interrupted.calls(), 3);
  }
  std::ifstream file(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "line\n");
  std::remove(path.c_str());
}

}  // namespace
}  // namespace snug::os
