// The server where the OS refuses it something, as the test says: the two calls of libc stand here in its stead.
#include "server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>

#include "waiting.h"

namespace {

std::atomic<int> accept_error{0};  // 0: none
std::atomic<int> accepts{0};
std::atomic<bool> refuses_next_watch{false};

}  // namespace

extern "C" int accept4(int number, sockaddr* address, socklen_t* length, int flags) {
  ++accepts;
  if (const int error = accept_error; error != 0) return errno = error, -1;
  return static_cast<int>(::syscall(SYS_accept4, number, address, length, flags));
}

extern "C" int epoll_ctl(int set, int operation, int number, epoll_event* event) noexcept {
  if (operation == EPOLL_CTL_ADD && refuses_next_watch.exchange(false)) return errno = ENOSPC, -1;
  return static_cast<int>(::syscall(SYS_epoll_ctl, set, operation, number, event));
}

namespace {

using cache_server::File;
using cache_server::Options;
using cache_server::Server;

class Connection {
 public:
  explicit Connection(int port) : file_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const timeval patience{20, 0};
    ::setsockopt(file_.number(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(file_.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }
  // As far as the server takes it.
  void send(std::string_view text) {
    while (!text.empty()) {
      const ssize_t count = ::send(file_.number(), text.data(), text.size(), MSG_NOSIGNAL);
      if (count < 0) return;
      text.remove_prefix(static_cast<std::size_t>(count));
    }
  }
  // So many bytes, or fewer if the server closes the connection.
  std::string receive(std::size_t bytes) {
    std::string text(bytes, '\0');
    std::size_t got = 0;
    while (got != bytes) {
      const ssize_t count = ::recv(file_.number(), text.data() + got, bytes - got, 0);
      EXPECT_FALSE(count < 0 && errno == EAGAIN) << "nothing comes, and the server does not close";
      if (count <= 0) break;
      got += static_cast<std::size_t>(count);
    }
    text.resize(got);
    return text;
  }
  std::string ping() {
    send("PING\r\n");
    return receive(7);
  }
  // What INFO says of what clients' requests and replies take.
  std::size_t buffers() {
    send("INFO memory\r\n");
    std::string header;
    while (!header.ends_with("\r\n")) {
      const std::string piece = receive(1);
      EXPECT_FALSE(piece.empty()) << "the server has closed the connection";
      if (piece.empty()) return 0;
      header += piece;
    }
    const std::string text = receive(std::stoul(header.substr(1)) + 2);
    constexpr std::string_view kName = "mem_clients_normal:";
    return std::stoul(text.substr(text.find(kName) + kName.size()));
  }

 private:
  File file_;
};

class ServerTest : public testing::Test {
 protected:
  explicit ServerTest(std::size_t buffer_bytes = std::size_t{1} << 30)
      : server_(Options{.port = 0, .clients = 10, .buffer_bytes = buffer_bytes}), thread_([this] { server_.run(); }) {}
  // The server sees the signal, and leaves it.
  ~ServerTest() override {
    accept_error = 0;
    ::kill(::getpid(), SIGTERM);
    thread_.join();
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    const timespec none{};
    EXPECT_EQ(::sigtimedwait(&ends, nullptr, &none), SIGTERM);
  }
  int port() const { return server_.port(); }

 private:
  Server server_;
  std::thread thread_;
};

constexpr const char* kPong = "+PONG\r\n";

TEST_F(ServerTest, AClientThatCannotBeWatchedGoesAlone) {
  Connection first(port());
  EXPECT_EQ(first.ping(), kPong);
  refuses_next_watch = true;
  EXPECT_EQ(Connection(port()).receive(1), "");
  EXPECT_FALSE(refuses_next_watch);
  EXPECT_EQ(first.ping(), kPong);
  EXPECT_EQ(Connection(port()).ping(), kPong);
}

// It is told of a client that waits as long as it listens: it must not ask again and again meanwhile.
TEST_F(ServerTest, WhereThereAreNoFilesClientsWait) {
  Connection first(port());
  EXPECT_EQ(first.ping(), kPong);
  accept_error = EMFILE;
  accepts = 0;
  const auto begin = std::chrono::steady_clock::now();
  Connection waits(port());
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  EXPECT_EQ(first.ping(), kPong);
  const int seen = accepts;
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
  EXPECT_GE(seen, 1);
  EXPECT_LE(seen, 2 + static_cast<int>(passed.count() * 10)) << "ten times a second";
  accept_error = 0;
  EXPECT_EQ(waits.ping(), kPong);
  EXPECT_EQ(Connection(port()).ping(), kPong);
}

class FullServerTest : public ServerTest {
 protected:
  FullServerTest() : ServerTest(std::size_t{5} << 20) {}

  static constexpr std::size_t kValue = std::size_t{3} << 20;

  static std::string half(const char* key) {
    return "*3\r\n$3\r\nSET\r\n$1\r\n" + std::string(key) + "\r\n$" + std::to_string(kValue) + "\r\n" +
           std::string(kValue / 2, 'v');
  }
};

TEST_F(FullServerTest, TheClientThatHoldsMostGoes) {
  Connection asks(port());
  const std::size_t before = asks.buffers();
  Connection first(port());
  first.send(half("a"));
  EXPECT_TRUE(support::comes_true([&] { return asks.buffers() >= before + kValue / 2; }));
  Connection second(port());
  second.send(half("b") + std::string(kValue / 2 - 1, 'v'));
  EXPECT_EQ(second.receive(1), "");
  first.send(std::string(kValue / 2, 'v') + "\r\n");
  EXPECT_EQ(first.receive(5), "+OK\r\n");
  EXPECT_TRUE(support::comes_true([&] { return asks.buffers() < before + (std::size_t{1} << 20); }));
}

}  // namespace
