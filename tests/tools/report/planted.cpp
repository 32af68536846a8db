// planted KIND: a program with one fault of its memory, which a report has to find.
//
//   leak      keep_session() keeps blocks of 1000 bytes that nobody frees, one each round; else it frees what it takes
//   slowing   the same, less and less: four fifths of them in the first half of the time, however the rounds' pace
//   changes drip      keep_note() keeps blocks of 100 bytes that nobody frees: a hundredth of the peak, beside the
//   temporaries of six
//             functions
//   storm     format_line() makes two short-lived strings for each line
//   waste     make_row() makes rows of 4360 bytes, which lie in blocks of 4608
//   spread    make_text() makes blocks of 4200 to 4399 bytes, which lie in blocks of 4608
//   tiny      make_mark() makes blocks of 1 to 8 bytes, which lie in blocks of 16
//   growth    append_all() grows a vector without reserve()
//   handover  a thread frees what another one makes
//   spike     load_all() holds much for a moment
//   ring      serve() replaces blocks of any sizes, of which many are followed by one of twice their size; none grows
//   nothing   none of these
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int kRounds = 3000;
std::vector<char*> sessions;  // reachable, and never used again

[[gnu::noinline]] void keep_session() {
  char* const session = new char[1000];
  std::memset(session, 1, 1000);
  sessions.push_back(session);
}

[[gnu::noinline]] void keep_note() {
  char* const note = new char[100];
  std::memset(note, 1, 100);
  sessions.push_back(note);
}

template <int kPart>
[[gnu::noinline]] std::size_t write_part(int line) {
  return std::string(40 + kPart + line % 7, 'x').size();
}

[[gnu::noinline]] std::size_t write_parts(int line) {
  return write_part<1>(line) + write_part<2>(line) + write_part<3>(line) + write_part<4>(line) + write_part<5>(line) +
         write_part<6>(line);
}

[[gnu::noinline]] std::size_t format_line(int line) {
  const std::string number(40 + line % 7, 'x');
  const std::string whole(60 + line % 5, 'y');
  return number.size() + whole.size();
}

struct Row {
  char cells[4360];
};
[[gnu::noinline]] std::unique_ptr<Row> make_row() { return std::make_unique<Row>(); }

[[gnu::noinline]] std::unique_ptr<char[]> make_text(int number) {
  return std::make_unique<char[]>(4200 + number % 200);
}

[[gnu::noinline]] std::unique_ptr<char[]> make_mark(int number) { return std::make_unique<char[]>(1 + number % 8); }

[[gnu::noinline]] std::size_t append_all() {
  std::vector<long> values;
  for (long i = 0; i < 400'000; ++i) values.push_back(i);
  return values.size();
}

[[gnu::noinline]] std::vector<std::unique_ptr<char[]>> load_all() {
  std::vector<std::unique_ptr<char[]>> files;
  files.reserve(200);
  for (int i = 0; i < 200; ++i) files.push_back(std::make_unique<char[]>(50'000));
  return files;
}

[[gnu::noinline]] std::size_t serve() {
  std::unique_ptr<char[]> ring[8];
  unsigned draw = 1;
  for (int i = 0; i < 50'000; ++i) {
    draw = draw * 1664525 + 1013904223;
    ring[i % 8] = std::make_unique<char[]>(500 + (draw >> 8) % 700);
  }
  return draw;
}

std::mutex lock;
std::condition_variable has_message;
std::deque<std::unique_ptr<char[]>> messages;

[[gnu::noinline]] void make_messages(int count) {
  for (int i = 0; i < count; ++i) {
    auto message = std::make_unique<char[]>(200);
    const std::scoped_lock held(lock);
    messages.push_back(std::move(message));
    has_message.notify_one();
  }
}

[[gnu::noinline]] void free_messages(int count) {
  for (int i = 0; i < count; ++i) {
    std::unique_lock held(lock);
    has_message.wait(held, [] { return !messages.empty(); });
    const std::unique_ptr<char[]> message = std::move(messages.front());
    messages.pop_front();
  }
}

void rest(int microseconds) { std::this_thread::sleep_for(std::chrono::microseconds(microseconds)); }

}  // namespace

int main(int count, char** arguments) {
  const std::string kind = count > 1 ? arguments[1] : "nothing";
  const auto begin = std::chrono::steady_clock::now();
  std::vector<std::unique_ptr<char[]>> working;
  std::vector<std::unique_ptr<Row>> rows;
  std::size_t sum = 0;
  sessions.reserve(kRounds);
  working.reserve(400);
  std::vector<std::unique_ptr<char[]>> marks;
  rows.reserve(kRounds);
  if (kind == "handover") {
    std::thread freer(free_messages, 40'000);
    make_messages(40'000);
    freer.join();
  }
  for (int round = 0; round < kRounds; ++round) {
    if (round < 400) working.push_back(std::make_unique<char[]>(512));
    if (kind == "leak") keep_session();
    if (kind == "slowing") {
      const std::chrono::duration<double> since = std::chrono::steady_clock::now() - begin;
      while (sessions.size() < std::cbrt(10 * since.count()) * kRounds) keep_session();
    }
    if (kind == "drip") {
      keep_note();
      sum += write_parts(round);
      if (round == 0)
        for (int i = 0; i < 300; ++i) working.push_back(std::make_unique<char[]>(98'304));
    }
    if (kind == "storm")
      for (int line = 0; line < 20; ++line) sum += format_line(line);
    if (kind == "waste" && round < 800) rows.push_back(make_row());
    if (kind == "spread" && round < 800) working.push_back(make_text(round));
    if (kind == "tiny")
      for (int i = 0; i != 20; ++i) marks.push_back(make_mark(i));
    if (kind == "growth" && round % 300 == 0) sum += append_all();
    if (kind == "ring" && round == 0) sum += serve();
    if (kind == "spike" && round == kRounds / 2) {
      // It is short beside the rest, however long a busy machine takes for it.
      const auto load_begin = std::chrono::steady_clock::now();
      sum += load_all().size();
      std::this_thread::sleep_for(20 * (std::chrono::steady_clock::now() - load_begin));
    }
    if (round % 10 == 0) rest(100);
  }
  std::printf("%s %zu\n", kind.c_str(), sum + sessions.size() + rows.size());
}
