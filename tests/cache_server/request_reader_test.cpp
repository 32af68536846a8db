// Requests, however the network cuts them, and what is no request.
#include "request_reader.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace {

using cache_server::RequestLimits;
using cache_server::RequestReader;
using cache_server::split_line;
using Request = std::vector<std::string>;

struct Reading {
  std::vector<Request> requests;
  std::string error;
};

// Gives the reader `step` bytes at a time.
Reading read_all(std::string_view text, std::size_t step, const RequestLimits& limits = {}) {
  RequestReader reader(limits);
  Reading reading;
  while (!text.empty()) {
    const std::span<char> room = reader.room();
    const std::size_t count = std::min({step, text.size(), room.size()});
    std::copy_n(text.begin(), count, room.begin());
    reader.add(count);
    text.remove_prefix(count);
    for (;;) {
      const RequestReader::Found found = reader.next();
      if (found == RequestReader::Found::kNothing) break;
      if (found == RequestReader::Found::kError) {
        reading.error = reader.error();
        return reading;
      }
      reading.requests.emplace_back(reader.words().begin(), reader.words().end());
    }
  }
  return reading;
}

std::string encoded(const Request& words) {
  std::string text = "*" + std::to_string(words.size()) + "\r\n";
  for (const std::string& word : words) text += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
  return text;
}

std::string error_of(std::string_view text) { return read_all(text, 7).error; }

TEST(RequestReader, ReadsWordsOfAnyBytes) {
  const Request request = {"SET", std::string("a\0\r\n$1", 6), ""};
  EXPECT_EQ(read_all(encoded(request), 1000).requests, std::vector<Request>{request});
}

RC_GTEST_PROP(RequestReader, DoesNotMindHowThePipelineIsCut, (std::vector<Request> requests)) {
  std::string text;
  std::vector<Request> expected;
  for (const Request& request : requests) {
    text += encoded(request);
    if (!request.empty()) expected.push_back(request);  // one without words is passed over
  }
  const auto step = *rc::gen::inRange<std::size_t>(1, 40);
  const Reading reading = read_all(text, step);
  RC_ASSERT(reading.requests == expected);
  RC_ASSERT(reading.error.empty());
}

// Pieces of requests in any order, cut anywhere.
TEST(RequestReader, FindsTheSameInAnyBytesHoweverTheyAreCut) {
  constexpr const char* kPieces[] = {"*1\r\n", "*2\r\n",   "*0\r\n", "*",  "$3\r\nabc\r\n", "$0\r\n\r\n", "$",  "\r\n",
                                     "\n",     "PING\r\n", "'",      "\"", "\\x41",         " ",          "-1", "3"};
  std::mt19937 random(1);
  std::size_t requests = 0;
  std::size_t errors = 0;
  for (int round = 0; round != 20000; ++round) {
    std::string text;
    for (auto pieces = 1 + random() % 12; pieces != 0; --pieces) text += kPieces[random() % std::size(kPieces)];
    const Reading slowly = read_all(text, 1);
    const Reading at_once = read_all(text, text.size());
    ASSERT_EQ(slowly.requests, at_once.requests) << text;
    ASSERT_EQ(slowly.error, at_once.error) << text;
    requests += at_once.requests.size();
    errors += at_once.error.empty() ? 0 : 1;
  }
  EXPECT_GT(requests, 10000u);
  EXPECT_GT(errors, 1000u);
}

TEST(RequestReader, ReadsLines) {
  const std::vector<Request> expected = {{"PING"}, {"SET", "k", "two words"}, {"GET", "k"}};
  EXPECT_EQ(read_all("PING\r\n\r\n  \nSET k \"two words\"\nGET  k \r\n", 3).requests, expected);
}

TEST(RequestReader, ReadsQuotesAsAShellDoes) {
  Request words;
  ASSERT_TRUE(split_line(R"(a "b \x41\n\"" 'c \' \n' d"e f")", &words));
  EXPECT_EQ(words, (Request{"a", "b A\n\"", "c ' \\n", "de f"}));
  words.clear();
  ASSERT_TRUE(split_line("\"\" ''", &words));
  EXPECT_EQ(words, (Request{"", ""}));
  for (const char* const wrong : {"\"a", "'a", "\"a\"b", "'a'b", "\"a\\\"", "\"\\"}) {
    words.clear();
    EXPECT_FALSE(split_line(wrong, &words)) << wrong;
  }
}

TEST(RequestReader, SaysWhatIsWrongAsRedisDoes) {
  EXPECT_EQ(error_of("*x\r\n"), "Protocol error: invalid multibulk length");
  EXPECT_EQ(error_of("*01\r\n"), "Protocol error: invalid multibulk length");
  EXPECT_EQ(error_of("*1048577\r\n"), "Protocol error: invalid multibulk length");
  EXPECT_EQ(error_of("*99999999999999999999\r\n"), "Protocol error: invalid multibulk length");
  EXPECT_EQ(error_of("*1\r\n+\r\n"), "Protocol error: expected '$', got '+'");
  EXPECT_EQ(error_of("*1\r\n$-1\r\n"), "Protocol error: invalid bulk length");
  EXPECT_EQ(error_of("*1\r\n$ 1\r\n"), "Protocol error: invalid bulk length");
  EXPECT_EQ(error_of("*1\r\n$67108865\r\n"), "Protocol error: invalid bulk length");
  EXPECT_EQ(error_of("GET \"k\n"), "Protocol error: unbalanced quotes in request");
  const std::string endless(70000, '1');
  EXPECT_EQ(error_of("*" + endless), "Protocol error: too big mbulk count string");
  EXPECT_EQ(error_of("*1\r\n$" + endless), "Protocol error: too big bulk count string");
  EXPECT_EQ(error_of(endless), "Protocol error: too big inline request");
}

TEST(RequestReader, PassesOverRequestsWithoutWords) {
  EXPECT_EQ(read_all("*0\r\n*-1\r\n*1\r\n$1\r\na\r\n", 2).requests, std::vector<Request>{{"a"}});
}

// Many words, each within the limit, are not.
TEST(RequestReader, BoundsARequest) {
  const RequestLimits limits{.word_bytes = 1000};
  Request request(2000, std::string(1000, 'x'));
  const Reading reading = read_all(encoded(request), 4096, limits);
  EXPECT_EQ(reading.error, "Protocol error: too big request");
}

TEST(RequestReader, HoldsALargeValueOnceAndLetsItGo) {
  const std::string large = encoded({"SET", "k", std::string(8 << 20, 'x')});
  RequestReader reader;
  std::size_t most = 0;
  for (std::string_view rest = large; !rest.empty();) {
    const std::span<char> room = reader.room();
    const std::size_t count = std::min(rest.size(), std::min<std::size_t>(room.size(), 10000));
    std::copy_n(rest.begin(), count, room.begin());
    reader.add(count);
    rest.remove_prefix(count);
    EXPECT_EQ(reader.next() == RequestReader::Found::kRequest, rest.empty());
    most = std::max(most, reader.held_bytes());
  }
  EXPECT_LT(most, (9u << 20));
  EXPECT_EQ(reader.next(), RequestReader::Found::kNothing);
  EXPECT_LT(reader.held_bytes(), 1u << 20) << "whether or not the client sends any more";
  EXPECT_FALSE(reader.room().empty());
  EXPECT_LT(reader.held_bytes(), 1u << 20);
}

// All of it, with which a request is whole.
void give(RequestReader& reader, std::string_view text) {
  while (!text.empty()) {
    const std::span<char> room = reader.room();
    const std::size_t count = std::min({room.size(), text.size(), std::size_t{16} << 10});
    std::copy_n(text.begin(), count, room.begin());
    reader.add(count);
    text.remove_prefix(count);
    EXPECT_EQ(reader.next() == RequestReader::Found::kRequest, text.empty());
  }
}

TEST(RequestReader, LetsGoOfWhatManyWordsTake) {
  constexpr std::size_t kWords = 100'000;
  RequestReader reader;
  give(reader, encoded(Request(kWords, "x")));
  EXPECT_EQ(reader.words().size(), kWords);
  EXPECT_GE(reader.held_bytes(), kWords * (sizeof(std::string_view) + 2 * sizeof(std::size_t)));
  EXPECT_EQ(reader.next(), RequestReader::Found::kNothing);
  EXPECT_LT(reader.held_bytes(), 1u << 20);
  std::string line;
  for (int i = 0; i < 30'000; ++i) line += "a ";
  give(reader, line + "\n");
  EXPECT_EQ(reader.words().size(), 30'000u);
  EXPECT_GE(reader.held_bytes(), 30'000 * (sizeof(std::string_view) + sizeof(std::string)));
  EXPECT_EQ(reader.next(), RequestReader::Found::kNothing);
  EXPECT_LT(reader.held_bytes(), 1u << 20);
}

TEST(RequestReader, KeepsWhatComesBehindALargeRequest) {
  const Request large = {"SET", "k", std::string(1 << 20, 'x')};
  const Request next = {"GET", "key"};
  const std::string text = encoded(large) + encoded(next) + encoded(next);
  for (const std::size_t step : {std::size_t{1000}, std::size_t{16} << 10, text.size()})
    EXPECT_EQ(read_all(text, step).requests, (std::vector<Request>{large, next, next}));
}

// The buffer doubles: each byte is copied to a new one twice at most, on average.
TEST(RequestReader, CopiesLittleOfARequestOfManyWords) {
  const std::string text = encoded(Request(100'000, "x"));
  RequestReader reader;
  const char* start = nullptr;
  std::size_t buffers = 0;
  std::size_t copied = 0;
  for (std::size_t given = 0; given != text.size();) {
    const std::span<char> room = reader.room();
    if (room.data() - given != start) {
      start = room.data() - given;
      copied += given;
      ++buffers;
    }
    const std::size_t count = std::min({room.size(), text.size() - given, std::size_t{16} << 10});
    std::copy_n(text.begin() + static_cast<std::ptrdiff_t>(given), count, room.begin());
    reader.add(count);
    given += count;
    EXPECT_EQ(reader.next() == RequestReader::Found::kRequest, given == text.size());
  }
  EXPECT_LE(copied, 2 * text.size());
  EXPECT_LE(buffers, 10u);
}

}  // namespace
