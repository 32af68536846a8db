// MetricsServer: answers HTTP requests for /metrics, one at a time, as Prometheus makes them. It trusts no client: a
// request is short, and request and answer have two seconds each.
#pragma once

#include <functional>
#include <string>

namespace snug::tool {

class MetricsServer {
 public:
  // `address`: "127.0.0.1:9200", "[::1]:9200", or ":9200" for all. Throws UserError if it cannot listen there.
  explicit MetricsServer(const std::string& address);
  ~MetricsServer();
  MetricsServer(const MetricsServer&) = delete;
  MetricsServer& operator=(const MetricsServer&) = delete;

  // The port, which the kernel has chosen where the address says 0.
  unsigned port() const;
  // Answers with what `body` returns, until the process is told to end.
  [[noreturn]] void serve(const std::function<std::string()>& body) const;

 private:
  void answer(int connection, const std::function<std::string()>& body) const;

  int socket_ = -1;
};

}  // namespace snug::tool
