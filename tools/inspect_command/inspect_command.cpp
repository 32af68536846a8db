#include "inspect_command/inspect_command.h"

#include <fmt/format.h>

#include <iostream>

#include "inspect_command/live_address.h"
#include "live/live_process.h"

namespace snug::tool {

namespace {

constexpr const char* kExamples = R"(Examples:
  SNUG_CONF=publish:on LD_PRELOAD=/usr/local/lib/libsnug.so ./server &
  snug inspect $! 0x7f2a41c04010                 a block, live or free, or memory of something else?
  snug inspect $! 0x7f2a41c04010 0x7f2a42000000  several
  snug inspect --json $! 0x7f2a41c04010 | jq .state
  SNUG_CONF=publish:on,profile:512K              of the blocks that the profile samples, also what allocated them

Of a block: which byte of it the address is, its usable size, whether it is live, free, or in which thread's cache, its
slab and heap. The process goes on: a block that other threads allocate or free at this moment is told as it was at some
time in between. It is one that was started with SNUG_CONF=publish:on, of this user's, or any for root.

Exit status: 0, whatever the addresses are; 1 if the process cannot be asked; 2 for wrong usage.)";

}  // namespace

InspectCommand::InspectCommand(CLI::App& app) {
  command_ = app.add_subcommand("inspect", "What addresses of a running process are: block, size, state, stack");
  command_->footer(kExamples);
  command_->add_option("process", process_, "The number of a process")->type_name("PID")->required();
  command_->add_option("address", addresses_, "Addresses, as 0x7f2a41c04010")->type_name("ADDRESS...")->required();
  command_->add_flag("--json", json_, "As JSON, an object a line (snug.address/1)");
}

int InspectCommand::execute() const {
  const pid_t pid = process_number(process_);
  std::vector<std::uint64_t> addresses;
  for (const std::string& word : addresses_) addresses.push_back(address_in(word));
  LiveProcess process(pid);
  std::vector<LiveAddress> answers;
  std::vector<std::uint64_t> frames;
  for (const std::uint64_t address : addresses) {
    const LiveAddress& answer = answers.emplace_back(process, address);
    frames.insert(frames.end(), answer.stack().begin(), answer.stack().end());
  }
  const LiveCode code(pid, frames);
  for (LiveAddress& answer : answers) {
    answer.name(code);
    std::cout << (json_ ? answer.json().dump() + "\n" : answer.text());
  }
  std::cout.flush();
  return std::cout ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace snug::tool
