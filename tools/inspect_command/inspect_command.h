// `snug inspect`: what addresses of a process are, or were as it left its core.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "inspect_command/address_answer.h"
#include "inspect_command/memory_image.h"

namespace snug::tool {

class InspectCommand {
 public:
  explicit InspectCommand(CLI::App& app);

  bool chosen() const { return command_->parsed(); }
  int execute() const;  // the exit status

 private:
  int inspect(const MemoryImage& image, const std::vector<std::uint64_t>& addresses) const;
  int print(std::vector<AddressAnswer>& answers, const std::vector<Mapping>& mappings,
            const MappedCode::BuildId& build_id) const;

  CLI::App* command_;
  std::string process_;
  std::vector<std::string> addresses_;
  bool json_ = false;
};

}  // namespace snug::tool
