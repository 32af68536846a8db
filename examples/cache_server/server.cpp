#include "server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "open_files.h"
#include "reply.h"
#include "snug/snug.h"

namespace cache_server {
namespace {

constexpr int kTick = 100;                                   // milliseconds
constexpr std::size_t kWorthGivingBack = 64;                 // pages
constexpr std::size_t kKeptReplies = std::size_t{64} << 10;  // of a buffer for replies, when all are sent

Moment clock_now() {
  using std::chrono::duration_cast, std::chrono::milliseconds, std::chrono::system_clock;
  return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "cache_server: %s: %s\n", what.c_str(), std::strerror(errno));
  std::exit(1);
}

// They come as something to read instead of in the middle of something.
int open_signals() {
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  sigprocmask(SIG_BLOCK, &ends, nullptr);
  const int number = signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
  if (number < 0) fail("signalfd");
  return number;
}

int open_listener(const Options& options) {
  const std::string place = options.address + ":" + std::to_string(options.port);
  const int number = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (number < 0) fail("socket");
  const int on = 1;
  setsockopt(number, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(options.port));
  inet_pton(AF_INET, options.address.c_str(), &address.sin_addr);
  if (bind(number, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 || listen(number, 511) != 0)
    fail("cannot listen on " + place);
  return number;
}

int port_of(int number) {
  sockaddr_in address{};
  socklen_t length = sizeof address;
  getsockname(number, reinterpret_cast<sockaddr*>(&address), &length);
  return ntohs(address.sin_port);
}

}  // namespace

File::~File() {
  if (number_ >= 0) ::close(number_);
}

Server::Server(const Options& options)
    : store_({.not_full = options.compacts ? 1 : SNUG_COMPACT_NEVER}),
      most_clients_(granted_clients(options.clients)),
      most_buffers_(options.buffer_bytes),
      limits_{.word_bytes = options.value_bytes},
      signals_(open_signals()),
      listener_(open_listener(options)),
      events_(epoll_create1(EPOLL_CLOEXEC)) {
  if (events_.number() < 0) fail("epoll_create1");
  facts_ = {.port = port_of(listener_.number()), .compacts = options.compacts, .started_at = clock_now()};
  if (!watch(signals_.number(), EPOLLIN, EPOLL_CTL_ADD) || !watch(listener_.number(), EPOLLIN, EPOLL_CTL_ADD))
    fail("epoll_ctl");
}

// False: the OS refuses.
bool Server::watch(int number, unsigned events, int operation) {
  epoll_event event{};
  event.events = events;
  event.data.fd = number;
  return epoll_ctl(events_.number(), operation, number, &event) == 0;
}

void Server::run() {
  Moment house_kept = clock_now();
  for (;;) {
    epoll_event events[64];
    const int count = epoll_wait(events_.number(), events, std::size(events), kTick);
    if (count < 0 && errno != EINTR) fail("epoll_wait");
    now_ = clock_now();
    bool comes_one = false;
    for (int i = 0; i < count; ++i) {
      const int number = events[i].data.fd;
      if (number == signals_.number()) return;
      if (number == listener_.number())
        comes_one = true;
      else if (const auto found = clients_.find(number); found != clients_.end())
        attend_or_close(*found->second, events[i].events);
    }
    // Last, so that no event is taken for one of a new client that has the number of one that went.
    if (comes_one) accept_clients();
    if (now_ - house_kept < kTick && now_ >= house_kept) continue;
    house_kept = now_;
    keep_house();
  }
}

void Server::accept_clients() {
  for (;;) {
    const int number = accept4(listener_.number(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (number < 0 && (errno == EINTR || errno == ECONNABORTED)) continue;
    // epoll would report the client that waits for a file descriptor at once again, and again.
    if (number < 0 && errno != EAGAIN) is_listening_ = !watch(listener_.number(), 0, EPOLL_CTL_MOD);
    if (number < 0) return;
    if (clients_.size() >= most_clients_) {
      const File refused(number);
      constexpr std::string_view kFull = "-ERR max number of clients reached\r\n";
      [[maybe_unused]] const ssize_t sent = send(number, kFull.data(), kFull.size(), MSG_NOSIGNAL);
      continue;
    }
    add_client(number);
  }
}

// It goes again if there is no memory for it, or it cannot be watched.
void Server::add_client(int number) {
  File connection(number);
  const int on = 1;
  setsockopt(number, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  try {
    clients_.emplace(number, std::make_unique<Client>(std::move(connection), limits_));
  } catch (const std::bad_alloc&) {
    return;
  }
  if (!watch(number, EPOLLIN, EPOLL_CTL_ADD)) close(*clients_.at(number));
}

// A file may be free again.
void Server::listen_again() {
  if (!is_listening_) is_listening_ = watch(listener_.number(), EPOLLIN, EPOLL_CTL_MOD);
}

// A client has to go if there is no memory for its request or replies; the others stay.
void Server::attend_or_close(Client& client, unsigned events) {
  bool stays = false;
  try {
    stays = attend(client, events);
  } catch (const std::bad_alloc&) {
  }
  stays ? count_buffers(client) : close(client);
}

// False if the client is gone.
bool Server::attend(Client& client, unsigned events) {
  if ((events & (EPOLLERR | EPOLLHUP)) != 0) return false;
  if ((events & EPOLLOUT) != 0 && !send_to(client)) return false;
  if (!client.is_waiting && (events & EPOLLOUT) == 0 && !read_from(client)) return false;
  // Requests that have come, as far as their replies are taken.
  while (!client.is_waiting && !client.is_closing) {
    const bool is_more = answer(client);
    if (!send_to(client)) return false;
    if (!is_more) break;
  }
  if (client.is_closing && !client.is_waiting) return false;
  const unsigned wanted = client.is_waiting ? EPOLLOUT : EPOLLIN;
  return wanted == (events & (EPOLLIN | EPOLLOUT)) || watch(client.file.number(), wanted, EPOLL_CTL_MOD);
}

// False if the client is gone.
bool Server::read_from(Client& client) {
  const std::span<char> room = client.reader.room();
  const ssize_t count = recv(client.file.number(), room.data(), room.size(), 0);
  if (count > 0) client.reader.add(static_cast<std::size_t>(count));
  return count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR));
}

// Does what requests ask, until none is whole, or there are many replies: then true.
bool Server::answer(Client& client) {
  while (client.replies.size() < kMostReplies) {
    switch (client.reader.next()) {
      case RequestReader::Found::kNothing:
        return false;
      case RequestReader::Found::kError:
        add_error(client.replies, "ERR " + std::string(client.reader.error()));
        client.is_closing = true;
        return false;
      case RequestReader::Found::kRequest:
        break;
    }
    ++facts_.commands;
    facts_.clients = clients_.size();
    facts_.buffers = buffers_;
    if (execute(client.reader.words(), store_, facts_, now_, client.replies) == Then::kClose) {
      client.is_closing = true;
      return false;
    }
  }
  return true;
}

// False if the client is gone.
bool Server::send_to(Client& client) {
  while (client.sent != client.replies.size()) {
    const ssize_t count = send(client.file.number(), client.replies.data() + client.sent,
                               client.replies.size() - client.sent, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    client.is_waiting = count < 0 && errno == EAGAIN;
    if (count < 0) return client.is_waiting;
    client.sent += static_cast<std::size_t>(count);
  }
  client.is_waiting = false;
  client.sent = 0;
  client.replies.clear();
  if (client.replies.capacity() > kKeptReplies) std::string().swap(client.replies);  // there were many, or a large one
  return true;
}

void Server::count_buffers(Client& client) {
  buffers_ -= client.buffers;
  client.buffers = client.reader.held_bytes() + client.replies.capacity();
  buffers_ += client.buffers;
  while (buffers_ > most_buffers_)
    close(*std::ranges::max_element(clients_, {}, [](const auto& each) { return each.second->buffers; })->second);
}

void Server::close(Client& client) {
  buffers_ -= client.buffers;
  clients_.erase(client.file.number());
  listen_again();
}

// What the heap has given back to snug's store goes to the kernel when nobody asks for anything.
void Server::keep_house() {
  listen_again();  // others' files may be free as well
  store_.sweep(now_);
  const std::size_t pages = store_.stats().pages;
  pages_seen_ = std::max(pages_seen_, pages);
  const bool is_idle = facts_.commands == commands_seen_;
  commands_seen_ = facts_.commands;
  if (!is_idle || pages + kWorthGivingBack > pages_seen_) return;
  snug_malloc_trim(0);
  pages_seen_ = pages;
}

std::string Server::summary() const {
  return std::to_string(store_.size()) + " keys, " + std::to_string(facts_.commands) + " commands";
}

}  // namespace cache_server
