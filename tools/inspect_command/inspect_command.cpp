#include "inspect_command/inspect_command.h"

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>

#include "inspect_command/address_answer.h"
#include "inspect_command/image_answers.h"
#include "library/build_id.h"
#include "live/live_process.h"
#include "print/output_file.h"
#include "text/json_text.h"
#include "text/user_error.h"

namespace snug::tool {

namespace {

constexpr const char* kExamples = R"(Examples:
  SNUG_CONF=publish:on LD_PRELOAD=/usr/local/lib/libsnug.so ./server &
  snug inspect $! 0x7f2a41c04010                 a block, live or free, or memory of something else?
  snug inspect $! 0x7f2a41c04010 0x7f2a42000000  several
  snug inspect --json $! 0x7f2a41c04010 | jq .state
  snug inspect core 0x7f2a41c04010               in the core file of a process that has ended
  SNUG_CONF=publish:on,profile:512K              of the blocks that the profile samples, also what allocated them

Of a block: which byte of it the address is, its usable size, whether it is live, free, or in which thread's cache, its
slab and heap. A running process goes on: a block that other threads allocate or free at this moment is told as it was at
some time in between. It is one that was started with SNUG_CONF=publish:on, of this user's, or any for root.

A process that is stopped, as by a debugger, and a core file tell it by their memory, whatever SNUG_CONF was; this command
has to be of the same build as their libsnug. (A core whose name is a number: as ./1234.)

Exit status: 0, whatever the addresses are; 1 if the process or the core cannot be asked; 2 for wrong usage.)";

bool is_stopped(pid_t pid) {
  std::ifstream status(fmt::format("/proc/{}/status", pid));
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("State:")) return line.find_first_of("Tt", sizeof "State:") == sizeof "State:";
  return false;
}

}  // namespace

InspectCommand::InspectCommand(CLI::App& app) {
  command_ = app.add_subcommand("inspect", "What addresses of a process or core file are: block, size, state, stack");
  command_->footer(kExamples);
  command_->add_option("process", process_, "The number of a process, or its core file")
      ->type_name("PID|CORE")
      ->required();
  command_->add_option("address", addresses_, "Addresses, as 0x7f2a41c04010")->type_name("ADDRESS...")->required();
  command_->add_flag("--json", json_, "As JSON, an object a line (snug.address/1)");
}

int InspectCommand::execute() const {
  std::vector<std::uint64_t> addresses;
  for (const std::string& word : addresses_) addresses.push_back(address_in(word));
  const bool is_number = process_.find_first_not_of("0123456789") == std::string::npos;
  if (!is_number) return inspect(MemoryImage::of_core(process_), addresses);
  const pid_t pid = process_number(process_);
  if (is_stopped(pid)) return inspect(MemoryImage::of_stopped(pid), addresses);
  LiveProcess process(pid);
  std::vector<AddressAnswer> answers;
  try {
    for (const std::uint64_t address : addresses)
      answers.emplace_back(process.ask(ControlCommand::kAddress, fmt::format("{:#x}", address)), pid, address);
  } catch (const UserError&) {
    throw;
  } catch (const std::exception&) {
    throw damaged_answer(pid);
  }
  return print(answers, mappings_of(pid), [](const Mapping& one) { return build_id_of(one.path); });
}

int InspectCommand::inspect(const MemoryImage& image, const std::vector<std::uint64_t>& addresses) const {
  const std::vector<std::string> texts = answers_of(image, addresses);
  std::vector<AddressAnswer> answers;
  try {
    for (std::size_t i = 0; i != addresses.size(); ++i) answers.emplace_back(texts[i], image.pid(), addresses[i]);
  } catch (const std::exception&) {
    throw UserError(fmt::format("{}: the records of the heap are damaged", image.name()), EXIT_FAILURE);
  }
  return print(answers, image.mappings(), [&](const Mapping& one) { return image.build_id_in_memory(one); });
}

int InspectCommand::print(std::vector<AddressAnswer>& answers, const std::vector<Mapping>& mappings,
                          const MappedCode::BuildId& build_id) const {
  std::vector<std::uint64_t> frames;
  for (const AddressAnswer& answer : answers) frames.insert(frames.end(), answer.stack().begin(), answer.stack().end());
  const MappedCode code(mappings, frames, build_id);
  std::string text;
  for (AddressAnswer& answer : answers) {
    answer.name(code);
    text += json_ ? json_text(answer.json()) + "\n" : answer.text();
  }
  write_output(kStandardOutput, text);
  return EXIT_SUCCESS;
}

}  // namespace snug::tool
