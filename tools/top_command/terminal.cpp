#include "top_command/terminal.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <csignal>
#include <string_view>

namespace snug::tool {

namespace {

constexpr std::string_view kEnter = "\033[?1049h\033[?25l";  // another screen, without a cursor
constexpr std::string_view kLeave = "\033[?25h\033[?1049l";
constexpr std::size_t kUsualLines = 24;

termios before;

void put(std::string_view text) {
  if (write(STDOUT_FILENO, text.data(), text.size()) < 0) return;  // the terminal is gone
}

void restore() {
  put(kLeave);
  tcsetattr(STDIN_FILENO, TCSANOW, &before);
}

void take() {
  termios raw = before;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  raw.c_cc[VMIN] = 1;
  raw.c_cc[VTIME] = 0;
  tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  put(kEnter);
}

// Both are async-signal-safe, as take() and restore() are.
void end(int signal_number) {
  restore();
  std::signal(signal_number, SIG_DFL);
  std::raise(signal_number);
}
void stop(int) {
  restore();
  std::raise(SIGSTOP);
  take();  // it goes on
}

void handle(int signal_number, void (*handler)(int)) {
  if (std::signal(signal_number, handler) == SIG_IGN) std::signal(signal_number, SIG_IGN);
}

}  // namespace

bool Terminal::is_here() { return isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0; }

Terminal::Terminal() {
  tcgetattr(STDIN_FILENO, &before);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) handle(number, end);
  handle(SIGTSTP, stop);
  take();
}

Terminal::~Terminal() { restore(); }

std::size_t Terminal::lines() const {
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row != 0 ? size.ws_row : kUsualLines;
}

void Terminal::draw(const std::string& text) const {
  std::string screen = "\033[H";
  for (const char c : text) {
    if (c == '\n') screen += "\033[K";
    screen += c;
  }
  put(screen + "\033[J");
}

std::string Terminal::key(std::chrono::milliseconds patience) const {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  if (poll(&input, 1, static_cast<int>(patience.count())) <= 0) return "";
  char bytes[8];
  const ssize_t got = read(STDIN_FILENO, bytes, sizeof bytes);
  if (got <= 0) return "q";
  const std::string_view word(bytes, static_cast<std::size_t>(got));
  if (word == "\033[A" || word == "k") return "up";
  if (word == "\033[B" || word == "j") return "down";
  if (word == "\n" || word == "\r") return "enter";
  if (word == "\033") return "escape";
  return std::string(word.substr(0, 1));
}

}  // namespace snug::tool
