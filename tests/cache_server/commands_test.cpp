// What each command answers, to the letter.
#include "commands.h"

#include <gtest/gtest.h>

#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

using cache_server::Moment;
using cache_server::Then;

class Commands : public ::testing::Test {
 protected:
  std::string ask(const std::vector<std::string>& words) {
    std::string reply;
    const std::vector<std::string_view> views(words.begin(), words.end());
    then = execute(views, store, facts, now, reply);
    EXPECT_EQ(store.check(), nullptr);
    return reply;
  }

  cache_server::Store store{snug::CompactHeapOptions{}};
  cache_server::ServerFacts facts{.port = 7000, .started_at = 1000};
  Moment now = 1'000'000;
  Then then = Then::kGoOn;
};

TEST_F(Commands, Ping) {
  EXPECT_EQ(ask({"PING"}), "+PONG\r\n");
  EXPECT_EQ(ask({"ping", "there"}), "$5\r\nthere\r\n");
  EXPECT_EQ(ask({"ECHO", ""}), "$0\r\n\r\n");
}

TEST_F(Commands, SetAndGet) {
  EXPECT_EQ(ask({"GET", "k"}), "$-1\r\n");
  EXPECT_EQ(ask({"SET", "k", "first"}), "+OK\r\n");
  EXPECT_EQ(ask({"SET", "k", "second one"}), "+OK\r\n");
  EXPECT_EQ(ask({"GET", "k"}), "$10\r\nsecond one\r\n");
  EXPECT_EQ(ask({"SET", "", ""}), "+OK\r\n");
  EXPECT_EQ(ask({"GET", ""}), "$0\r\n\r\n");
  EXPECT_EQ(ask({"DBSIZE"}), ":2\r\n");
}

TEST_F(Commands, DelAndExistsCount) {
  ask({"SET", "a", "1"});
  ask({"SET", "b", "2"});
  EXPECT_EQ(ask({"EXISTS", "a", "a", "c"}), ":2\r\n");
  EXPECT_EQ(ask({"DEL", "a", "a", "c"}), ":1\r\n");
  EXPECT_EQ(ask({"UNLINK", "b"}), ":1\r\n");
  EXPECT_EQ(ask({"DBSIZE"}), ":0\r\n");
}

TEST_F(Commands, ValuesGoWhenTheirMomentHasCome) {
  EXPECT_EQ(ask({"SET", "k", "v", "PX", "500"}), "+OK\r\n");
  EXPECT_EQ(ask({"PTTL", "k"}), ":500\r\n");
  now += 499;
  EXPECT_EQ(ask({"GET", "k"}), "$1\r\nv\r\n");
  now += 1;
  EXPECT_EQ(ask({"GET", "k"}), "$-1\r\n");
  EXPECT_EQ(ask({"PTTL", "k"}), ":-2\r\n");
  ask({"SET", "k", "v", "ex", "2"});
  EXPECT_EQ(ask({"PTTL", "k"}), ":2000\r\n");
  ask({"SET", "k", "v"});
  EXPECT_EQ(ask({"PTTL", "k"}), ":-1\r\n");
  ask({"SET", "k", "v", "EX", "1"});
  now += 1000;
  EXPECT_EQ(ask({"DEL", "k"}), ":0\r\n");
  EXPECT_EQ(ask({"EXISTS", "k"}), ":0\r\n");
}

TEST_F(Commands, SetRefusesWhatIsNoTime) {
  const std::string syntax = "-ERR syntax error\r\n";
  EXPECT_EQ(ask({"SET", "k", "v", "EX"}), syntax);
  EXPECT_EQ(ask({"SET", "k", "v", "QX", "1"}), syntax);
  EXPECT_EQ(ask({"SET", "k", "v", "EX", "1", "PX", "1"}), syntax);
  EXPECT_EQ(ask({"SET", "k", "v", "EX", "1.5"}), "-ERR value is not an integer or out of range\r\n");
  EXPECT_EQ(ask({"SET", "k", "v", "EX", "99999999999999999999"}), "-ERR value is not an integer or out of range\r\n");
  EXPECT_EQ(ask({"SET", "k", "v", "EX", "0"}), "-ERR invalid expire time in 'set' command\r\n");
  EXPECT_EQ(ask({"SET", "k", "v", "EX", "9223372036854775807"}), "-ERR invalid expire time in 'set' command\r\n");
  EXPECT_EQ(ask({"SET", "k", "v", "PX", "-1"}), "-ERR invalid expire time in 'set' command\r\n");
  EXPECT_EQ(ask({"DBSIZE"}), ":0\r\n");
}

TEST_F(Commands, FlushAll) {
  ask({"SET", "a", "1", "EX", "1"});
  EXPECT_EQ(ask({"FLUSHALL", "NOW"}), "-ERR syntax error\r\n");
  EXPECT_EQ(ask({"FLUSHALL", "SYNC"}), "+OK\r\n");
  EXPECT_EQ(ask({"DBSIZE"}), ":0\r\n");
  EXPECT_EQ(ask({"GET", "a"}), "$-1\r\n");
  EXPECT_EQ(store.stats().blocks, 0u);
}

TEST_F(Commands, Keys) {
  EXPECT_EQ(ask({"KEYS", "*"}), "*0\r\n");
  ask({"SET", "one", "1"});
  ask({"SET", "two", "2", "PX", "5"});
  EXPECT_EQ(ask({"KEYS", "t*"}), "*1\r\n$3\r\ntwo\r\n");
  EXPECT_TRUE(ask({"KEYS", "*o*"}).starts_with("*2\r\n"));
  now += 5;
  EXPECT_EQ(ask({"KEYS", "*"}), "*1\r\n$3\r\none\r\n");
}

TEST_F(Commands, ScanGoesThroughAllKeysWhileOthersComeAndGo) {
  EXPECT_EQ(ask({"SCAN", "0"}), "*2\r\n$1\r\n0\r\n*0\r\n");
  for (int i = 0; i < 100; ++i) ask({"SET", "stays" + std::to_string(i), "v"});
  std::set<std::string> seen;
  std::string cursor = "0";
  int calls = 0;
  do {
    const std::string reply = ask({"SCAN", cursor, "COUNT", "7", "match", "stays*"});
    ask({"SET", "comes" + std::to_string(calls), "v"});
    std::istringstream lines(reply);
    std::string line;
    for (int i = 0; i < 3; ++i) std::getline(lines, line);
    cursor = line.substr(0, line.size() - 1);
    std::getline(lines, line);
    ASSERT_EQ(line[0], '*');
    while (std::getline(lines, line) && std::getline(lines, line)) seen.insert(line.substr(0, line.size() - 1));
    ASSERT_LT(++calls, 100);
  } while (cursor != "0");
  EXPECT_EQ(seen.size(), 100u);
  EXPECT_GE(calls, 128 / 7);
}

TEST_F(Commands, ScanRefusesWhatIsNoCursor) {
  EXPECT_EQ(ask({"SCAN", "-1"}), "-ERR invalid cursor\r\n");
  EXPECT_EQ(ask({"SCAN", "18446744073709551616"}), "-ERR invalid cursor\r\n");
  EXPECT_EQ(ask({"SCAN", "0", "COUNT"}), "-ERR syntax error\r\n");
  EXPECT_EQ(ask({"SCAN", "0", "COUNT", "0"}), "-ERR syntax error\r\n");
  EXPECT_EQ(ask({"SCAN", "0", "COUNT", "x"}), "-ERR value is not an integer or out of range\r\n");
  EXPECT_EQ(ask({"SCAN", "0", "MORE", "1"}), "-ERR syntax error\r\n");
  ask({"SET", "k", "v"});
  EXPECT_EQ(ask({"SCAN", "18446744073709551615", "COUNT", "18446744073709551615"}).substr(0, 11), "*2\r\n$1\r\n0\r\n");
}

TEST_F(Commands, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(ask({"LPUSH", "a", "b"}), "-ERR unknown command 'LPUSH', with args beginning with: 'a' 'b' \r\n");
  EXPECT_EQ(ask({"NO\r\n+OK"}), "-ERR unknown command 'NO  +OK', with args beginning with: \r\n");
  EXPECT_EQ(ask({"GET"}), "-ERR wrong number of arguments for 'get' command\r\n");
  EXPECT_EQ(ask({"Set", "k"}), "-ERR wrong number of arguments for 'set' command\r\n");
  EXPECT_EQ(ask({"CONFIG", "SET", "save", ""}), "-ERR only CONFIG GET is known here\r\n");
  const std::string no_second_reply = ask({"MEMORY", "x\r\n+OK"});
  EXPECT_EQ(no_second_reply.find('\n'), no_second_reply.size() - 1);
  EXPECT_LT(ask({"MEMORY", std::string(100'000, 'x')}).size(), 600u);
  const std::string long_one = ask({std::string(1000, 'x'), std::string(1000, 'y'), "z"});
  EXPECT_LT(long_one.size(), 400u);
}

TEST_F(Commands, WhatRedisBenchmarkAsksFirst) {
  EXPECT_EQ(ask({"CONFIG", "GET", "save"}), "*2\r\n$4\r\nsave\r\n$0\r\n\r\n");
  EXPECT_EQ(ask({"CONFIG", "GET", "appendonly"}), "*2\r\n$10\r\nappendonly\r\n$2\r\nno\r\n");
  EXPECT_EQ(ask({"CONFIG", "GET", "nothing"}), "*0\r\n");
  EXPECT_EQ(ask({"COMMAND", "DOCS"}), "*0\r\n");
}

TEST_F(Commands, Information) {
  ask({"SET", "k", std::string(1000, 'v'), "EX", "5"});
  const std::string memory = ask({"INFO", "MEMORY"});
  EXPECT_NE(memory.find("# Memory\r\nused_memory:"), memory.npos);
  EXPECT_NE(memory.find("\r\ncompaction:on\r\n"), memory.npos);
  EXPECT_EQ(memory.find("# Server"), memory.npos);
  const std::string all = ask({"INFO"});
  for (const char* const line : {"# Server\r\n", "\r\ntcp_port:7000\r\n", "\r\nuptime_in_seconds:999\r\n",
                                 "# Memory\r\n", "\r\ndb0:keys=1,expires=1\r\n"})
    EXPECT_NE(all.find(line), all.npos) << line;
  EXPECT_EQ(ask({"INFO", "nothing"}), "$0\r\n\r\n");
}

TEST_F(Commands, Memory) {
  ask({"SET", "k", std::string(1000, 'v')});
  const std::string usage = ask({"MEMORY", "USAGE", "k"});
  EXPECT_GE(std::stoi(usage.substr(1)), 1000);
  EXPECT_LE(std::stoi(usage.substr(1)), 1300);
  EXPECT_EQ(ask({"MEMORY", "USAGE", "x"}), "$-1\r\n");
  EXPECT_EQ(ask({"MEMORY", "PURGE"}), "+OK\r\n");
  EXPECT_TRUE(ask({"MEMORY", "DOCTOR"}).starts_with("-ERR unknown subcommand"));
}

TEST_F(Commands, QuitClosesAfterItsReply) {
  EXPECT_EQ(ask({"QUIT"}), "+OK\r\n");
  EXPECT_EQ(then, Then::kClose);
  ask({"PING"});
  EXPECT_EQ(then, Then::kGoOn);
}

// A heap in a region is soon full: what was there stays, and the server goes on.
TEST(CommandsWithoutMemory, AreRefused) {
  alignas(4096) static char region[std::size_t{1} << 20];
  cache_server::Store store({.region = region, .region_bytes = sizeof region});
  const cache_server::ServerFacts facts;
  std::string reply;
  const auto ask = [&](std::vector<std::string_view> words) {
    reply.clear();
    execute(words, store, facts, 1, reply);
    return reply;
  };
  ask({"SET", "kept", "value"});
  EXPECT_EQ(ask({"SET", "kept", std::string(std::size_t{2} << 20, 'x')}),
            "-OOM there is no memory for this command\r\n");
  EXPECT_EQ(ask({"GET", "kept"}), "$5\r\nvalue\r\n");
  EXPECT_EQ(store.check(), nullptr);
}

}  // namespace
