// Server: connections of one store, on one thread, by epoll.
//
// The server does not read from a client that has not taken its replies: so a connection holds a request, and replies
// up to kMostReplies and one value more, whatever the client does. Replies to a pipeline are sent together. What all of
// them hold is bounded too: beyond, the client that holds most has to go.
//
//   buffers_ == what all clients hold, as of the last time that each was attended to;  buffers_ <= most_buffers_
//
// Where the OS refuses something for one client (a file, memory, to be watched), that client has to go or wait, and the
// others do not notice.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

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
    Client(File&& connection, const RequestLimits& limits) : file(std::move(connection)), reader(limits) {}
    File file;
    RequestReader reader;
    std::string replies;
    std::size_t sent = 0;     // of the replies
    std::size_t buffers = 0;  // bytes, when it was last attended to
    bool is_waiting = false;  // for the client to take replies
    bool is_closing = false;  // when they are taken
  };

  static constexpr std::size_t kMostReplies = std::size_t{1} << 20;

  bool watch(int number, unsigned events, int operation);
  void accept_clients();
  void add_client(int number);
  void listen_again();
  void attend_or_close(Client& client, unsigned events);
  bool attend(Client& client, unsigned events);
  bool read_from(Client& client);
  bool answer(Client& client);
  bool send_to(Client& client);
  void count_buffers(Client& client);
  void close(Client& client);
  void keep_house();

  Store store_;
  ServerFacts facts_;
  const std::size_t most_clients_;
  const std::size_t most_buffers_;
  const RequestLimits limits_;
  File signals_, listener_, events_;
  bool is_listening_ = true;  // not for want of files: until there may be some
  std::unordered_map<int, std::unique_ptr<Client>> clients_;
  std::size_t buffers_ = 0;
  Moment now_ = 0;
  std::uint64_t commands_seen_ = 0;  // when house was last kept
  std::size_t pages_seen_ = 0;       // the most since memory was last given back
};

}  // namespace cache_server
