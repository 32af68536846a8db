/* One client of the store: at a rate, or one request after the other, it gets values, and sets one of ten anew with
 * another size, until SIGTERM. Then it prints how long answers took, in nanoseconds: load PORT KEYS RATE SEED RATE:
 * requests a second, or 0
 *   {"requests": N, "sent": [p50, p99, p99.9, max], "due": [the same]}
 * "sent" is from the request's sending to its answer. "due" is from when it was due by the rate, so that a stall counts
 * for all that were due meanwhile and not for one; without a rate both are the same. */
#include <arpa/inet.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { kSmallest = 16, kLargest = 4096, kMost = 1 << 24 };

static volatile sig_atomic_t ends;
static void end(int signal) {
  (void)signal;
  ends = 1;
}

static uint32_t sent[kMost], due[kMost]; /* 4.29 s at most */

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void sleep_until(int64_t moment) {
  const struct timespec time = {moment / 1000000000, moment % 1000000000};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
}

static uint64_t state;
static uint64_t draw(void) { /* splitmix64 */
  uint64_t z = state += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

static void die(const char* why) {
  fprintf(stderr, "load: %s\n", why);
  exit(1);
}

static int request(char* text, unsigned keys) {
  const unsigned key = (unsigned)(draw() % keys);
  if (draw() % 10 != 0) return sprintf(text, "*2\r\n$3\r\nGET\r\n$16\r\nkey:%012u\r\n", key);
  const int size = (int)(kSmallest * pow((double)kLargest / kSmallest, (double)(draw() >> 11) / 0x1p53));
  int at = sprintf(text, "*3\r\n$3\r\nSET\r\n$16\r\nkey:%012u\r\n$%d\r\n", key, size);
  memset(text + at, 'a' + (int)(key % 26), (size_t)size);
  at += size;
  return at + sprintf(text + at, "\r\n");
}

/* A whole answer: +OK, or a value. */
static void take_answer(int peer) {
  static char text[kLargest + 64];
  size_t have = 0;
  for (;;) {
    const ssize_t got = read(peer, text + have, sizeof text - 1 - have);
    if (got <= 0) die("the server hung up");
    have += (size_t)got;
    text[have] = 0;
    const char* line_end = strstr(text, "\r\n");
    if (line_end == NULL) continue;
    if (text[0] == '+') return;
    const long size = strtol(text + 1, NULL, 10);
    if (text[0] != '$' || size < kSmallest || size > kLargest) die(text);
    if (have >= (size_t)(line_end - text) + 2 + (size_t)size + 2) return;
  }
}

static int by_value(const void* a, const void* b) {
  const uint32_t x = *(const uint32_t*)a, y = *(const uint32_t*)b;
  return (x > y) - (x < y);
}

static void print(const char* name, uint32_t* times, size_t count) {
  qsort(times, count, sizeof *times, by_value);
  printf(", \"%s\": [%u, %u, %u, %u]", name, times[count / 2], times[count * 99 / 100], times[count * 999 / 1000],
         times[count - 1]);
}

static uint32_t bounded(int64_t time) { return time > UINT32_MAX ? UINT32_MAX : (uint32_t)time; }

int main(int argc, char** argv) {
  if (argc != 5) die("usage: load PORT KEYS RATE SEED");
  const unsigned keys = (unsigned)strtoul(argv[2], NULL, 10);
  const double rate = strtod(argv[3], NULL);
  state = strtoul(argv[4], NULL, 10);
  signal(SIGTERM, end);
  const struct sockaddr_in address = {.sin_family = AF_INET,
                                      .sin_port = htons((uint16_t)strtoul(argv[1], NULL, 10)),
                                      .sin_addr = {htonl(INADDR_LOOPBACK)}};
  const int peer = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;
  if (connect(peer, (const struct sockaddr*)&address, sizeof address) != 0) die("no server");
  setsockopt(peer, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  static char text[kLargest + 128];
  const int64_t start = now();
  size_t count = 0;
  for (; !ends && count != kMost; ++count) {
    const int size = request(text, keys);
    const int64_t wanted = rate > 0 ? start + (int64_t)((double)count * 1e9 / rate) : 0;
    if (rate > 0 && now() < wanted) sleep_until(wanted);
    const int64_t begun = now();
    if (write(peer, text, (size_t)size) != size) die("the server hung up");
    take_answer(peer);
    const int64_t done = now();
    sent[count] = bounded(done - begun);
    due[count] = bounded(rate > 0 ? done - wanted : done - begun);
  }
  if (count == 0) die("not one request");
  printf("{\"requests\": %zu", count);
  print("sent", sent, count);
  print("due", due, count);
  puts("}");
  return 0;
}
