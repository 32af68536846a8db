// idle_burst: many blocks of one size, all freed, and then nothing. One small block that was taken after them stays in
// use, as in most programs something does. Stresses what a process keeps while it makes no call that could give memory
// back. Resembles a server after a peak.
#include "workload.h"

namespace workload {

const Program kProgram = {
    .name = "idle_burst",
    .what =
        R"(Takes 300,000 blocks of one size, takes one small block that stays, frees the others, and
then sleeps for five seconds without a call. Shows what an idle process keeps.)",
    .figures = "peak, freed, idle: MiB of resident memory, full, after the frees and after the sleep.",
    .sizes = "1500"};

constexpr unsigned kIdleSeconds = 5;

void measure_all(const Options& options, Report& report) {
  const size_t size = options.size != 0 ? options.size : 1500;
  Array<void*> blocks(scaled(options, 300'000));
  const size_t base = rss_kib();
  const auto add = [&](const char* stage) {
    const size_t now = rss_kib();
    report.add(stage, now > base ? static_cast<double>(now - base) / 1024 : 0, "MiB");
  };
  for (void*& block : blocks) {
    block = take_whole(size);
  }
  void* const last = std::malloc(64);
  add("peak");
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (i % options.verify == 0) check_stamp(blocks[i], size);
    std::free(blocks[i]);
  }
  add("freed");
  if (report.wants("idle")) {
    sleep(kIdleSeconds);
    add("idle");
  }
  std::free(last);
}

}  // namespace workload
