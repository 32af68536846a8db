// What is written for people to read: whole, though a signal handler runs meanwhile.
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

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
