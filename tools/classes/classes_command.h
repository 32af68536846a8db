// `snug classes`: size-class maps shown, drawn, written for the drop-in, and fitted to a program's sizes.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "classes/classes_fit.h"
#include "classes/classes_map.h"
#include "thread/thread_cache.h"

namespace snug::tool {

class ClassesCommand {
 public:
  explicit ClassesCommand(CLI::App& app);

  bool chosen() const { return command_->parsed(); }
  int execute() const;

 private:
  void add_fit();
  void print(const std::string& text) const;
  int show() const;
  int fit_map() const;

  CLI::App* command_;
  CLI::App* fit_command_;
  std::string map_;
  bool compatible_ = false;
  bool json_ = false;
  std::string plot_;
  std::string map_file_;

  std::string sizes_;
  std::string process_;
  std::string counted_;
  std::size_t max_classes_ = default_class_list().count - 1;
  std::uint64_t threads_ = 1;
  std::uint64_t budget_ = CacheLimits().budget;
  std::size_t largest_ = DefaultSizeClassMap::kMaxSize;
  double max_gap_ = 2;
  CacheHint hint_;
};

}  // namespace snug::tool
