#include "stats_command/metrics_server.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <string_view>
#include <thread>

#include "text/printable.h"
#include "text/user_error.h"

namespace snug::tool {

namespace {

using std::chrono::steady_clock;

constexpr std::size_t kLongestRequest = 8192;
constexpr auto kPatience = std::chrono::seconds(2);  // with a client, from its first byte to the last of the answer
constexpr int kWaiting = 16;                         // connections

UserError cannot_listen(const std::string& address, const char* why) {
  return UserError(fmt::format("cannot listen at '{}': {}", printable(address), why));
}

// Waits until the socket can be read or written; false if that takes too long.
bool is_ready(int connection, short events, steady_clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - steady_clock::now());
  pollfd waited{connection, events, 0};
  return left.count() > 0 && poll(&waited, 1, static_cast<int>(left.count())) > 0;
}

// What a request asks for, "/metrics"; empty if it is none that can be answered.
std::string path_of(int connection, steady_clock::time_point deadline) {
  std::string request;
  while (request.find("\r\n\r\n") == std::string::npos && request.size() < kLongestRequest) {
    if (!is_ready(connection, POLLIN, deadline)) return "";
    char part[1024];
    const ssize_t got = recv(connection, part, sizeof part, MSG_DONTWAIT);
    if (got <= 0) return "";
    request.append(part, static_cast<std::size_t>(got));
  }
  if (!request.starts_with("GET ")) return "";
  const std::size_t end = request.find_first_of(" ?", 4);
  return request.substr(4, end - 4);
}

void send_all(int connection, std::string_view text, steady_clock::time_point deadline) {
  while (!text.empty()) {
    if (!is_ready(connection, POLLOUT, deadline)) return;
    const ssize_t sent = send(connection, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
}

void send_response(int connection, const char* status, const std::string& body) {
  const auto deadline = steady_clock::now() + kPatience;
  send_all(connection,
           fmt::format("HTTP/1.1 {}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
                       "Content-Length: {}\r\nConnection: close\r\n\r\n{}",
                       status, body.size(), body),
           deadline);
}

}  // namespace

MetricsServer::MetricsServer(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos) throw cannot_listen(address, "name it as HOST:PORT, as in 127.0.0.1:9200");
  std::string host = address.substr(0, colon);
  const std::string port = address.substr(colon + 1);
  constexpr int kMostPort = 65535;
  if (port.empty() || port.size() > 5 || port.find_first_not_of("0123456789") != std::string::npos ||
      std::stoi(port) > kMostPort)
    throw cannot_listen(address, "a port is a number from 0 to 65535");
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  addrinfo wanted{};
  wanted.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(host.empty() ? nullptr : host.c_str(), port.c_str(), &wanted, &found); error != 0)
    throw cannot_listen(address, gai_strerror(error));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> list(found, freeaddrinfo);
  socket_ = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int yes = 1;
  if (socket_ >= 0) setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (socket_ < 0 || bind(socket_, found->ai_addr, found->ai_addrlen) != 0 || listen(socket_, kWaiting) != 0) {
    const int error = errno;
    if (socket_ >= 0) close(socket_);
    throw cannot_listen(address, std::strerror(error));
  }
}

MetricsServer::~MetricsServer() { close(socket_); }

unsigned MetricsServer::port() const {
  sockaddr_storage bound{};
  socklen_t length = sizeof bound;
  getsockname(socket_, reinterpret_cast<sockaddr*>(&bound), &length);
  return ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(bound).sin6_port
                                           : reinterpret_cast<const sockaddr_in&>(bound).sin_port);
}

void MetricsServer::serve(const std::function<std::string()>& body) const {
  for (;;) {
    const int connection = accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));  // no files left, say
      continue;
    }
    answer(connection, body);
    close(connection);
  }
}

void MetricsServer::answer(int connection, const std::function<std::string()>& body) const {
  const std::string path = path_of(connection, steady_clock::now() + kPatience);
  if (path == "/metrics")
    send_response(connection, "200 OK", body());
  else if (path == "/")
    send_response(connection, "200 OK", "snug: /metrics has the statistics\n");
  else
    send_response(connection, path.empty() ? "400 Bad Request" : "404 Not Found", "snug: ask for /metrics\n");
}

}  // namespace snug::tool
