// Server: connections of one store, on one thread, by epoll.
//
// A client whose replies have not been taken is not read from: so a connection holds a request, and replies up to
// kMostReplies and one value more, whatever the client does. Replies to a pipeline are sent together.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <unordered_map>

#include "commands.h"
#include "options.h"
#include "request_reader.h"
#include "store.h"

namespace cache_server {

// A file descriptor of the kernel's, closed at the end.
class File {
 public:
  File() = default;
  explicit File(int number) : number_(number) {}
  File(File&& other) noexcept : number_(other.number_) { other.number_ = -1; }
  File& operator=(File&&) = delete;
  ~File();
  int number() const { return number_; }

 private:
  int number_ = -1;
};

class Server {
 public:
  // Listens; ends the process with one line if that cannot be (status 1).
  explicit Server(const Options& options);

  int port() const { return facts_.port; }
  // Until SIGTERM or SIGINT comes.
  void run();
  // What it holds, and has done, as one line.
  std::string summary() const;

 private:
  struct Client {
    Client(int number, const RequestLimits& limits) : file(number), reader(limits) {}
    File file;
    RequestReader reader;
    std::string replies;
    std::size_t sent = 0;     // of the replies
    bool is_waiting = false;  // for the client to take replies
    bool is_closing = false;  // when they are taken
  };

  static constexpr std::size_t kMostReplies = std::size_t{1} << 20;

  void watch(int number, unsigned events, int operation);
  void accept_clients();
  void attend_or_close(Client& client, unsigned events);
  void attend(Client& client, unsigned events);
  bool read_from(Client& client);
  bool answer(Client& client);
  bool send_to(Client& client);
  void close(Client& client);
  void keep_house();

  Store store_;
  ServerFacts facts_;
  const std::size_t most_clients_;
  const RequestLimits limits_;
  File signals_, listener_, events_;
  std::unordered_map<int, std::unique_ptr<Client>> clients_;
  Moment now_ = 0;
  std::uint64_t commands_seen_ = 0;  // when house was last kept
  std::size_t pages_seen_ = 0;       // the most since memory was last given back
};

}  // namespace cache_server
