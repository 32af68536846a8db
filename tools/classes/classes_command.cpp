#include "classes/classes_command.h"

#include <fmt/format.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "classes/classes_fit_print.h"
#include "classes/classes_plot.h"
#include "classes/classes_print.h"
#include "classes/classes_recorded.h"
#include "input/process_option.h"
#include "print/output_file.h"
#include "print/people_text.h"
#include "print/say.h"
#include "size/class_list.h"
#include "text/json_text.h"
#include "text/number_within.h"
#include "text/printable.h"
#include "text/user_error.h"

namespace snug::tool {

namespace {

constexpr const char* kExamples = R"(A MAP is default, dense, six or seven parameters, or a map file:
  NumBits,MinSizeLog,MidSizeLog,MaxSizeLog,MaxNumCachedHint,MaxBytesCachedLog[,MinNumCachedHint]
      2^MinSizeLog and its multiples up to 2^MidSizeLog, then 2^(NumBits-1) classes a doubling up to 2^MaxSizeLog;
      of each class a thread caches MaxNumCachedHint blocks or 2^MaxBytesCachedLog bytes, whichever is less, but
      MinNumCachedHint blocks (1) at least.

Examples:
  snug classes dense                            the map of SNUG_CONF=classes:dense
  snug classes 3,4,8,17,128,16 -o fat.map       any map of the family, for SNUG_CONF=classes:fat.map
  snug classes default --plot default.svg       waste against size, bytes cached of each class
  snug classes fit sizes.txt --max-classes 32   the best map for a program (snug classes fit --help))";

constexpr const char* kFitExamples =
    R"(A HISTOGRAM has one size a line: bytes asked for, and how many blocks of that size
the program has, best at its peak; a comment begins with #. A TRACE is a file of `snug record`, of which the process that
allocates most counts unless --process names another, or has a line for each event, its fields separated by tabs; a key
is hexadecimal (an address, say) and names a block while it lives:
  a KEY BYTES             a block is allocated
  f KEY                   it is freed
  r OLD-KEY KEY BYTES     it is freed, and another allocated in its stead
Empty lines and those that begin with # are passed over. Which of these a file is, its begin says. Of a trace, what
counts is what lives at its peak, the moment of most live bytes; with --of all, every allocation.

The cost of a map is, in bytes,
  waste   bytes of all those blocks beyond what was asked for
  cache   what a thread's cache may hold: for each class its size, times the blocks that a thread may cache of it
          (or that there are, if fewer), but in all no more than --cache; times --threads
and the fit is the map of least cost, found exactly, among those with at most so many classes, of sizes that the
drop-in can load, up to --largest, in which no class is more than --max-gap times the one before. Blocks beyond
--largest are served by whole OS pages.

Examples:
  snug classes fit sizes.txt --max-classes 32 -o program.map
  SNUG_CONF=classes:program.map snug run -- program
  snug record -o program.trace ./program; snug classes fit program.trace -o program.map
  printf 'a\t1\t24\na\t2\t100\nf\t1\nr\t2\t1\t200\n' | snug classes fit -
  snug classes fit sizes.txt --threads 16 --cached-blocks 8 --cached-bytes 1K --cached-least 1 --plot fit.svg

Exit status: 0; 3 if the trace is damaged, and was read as far as it could be, or the file is empty.)";

constexpr std::size_t kMostThreads = 65536;
constexpr std::uint64_t kMostBudget = std::uint64_t{1} << 40;

}  // namespace

ClassesCommand::ClassesCommand(CLI::App& app) {
  const SizeClassParameters& usual = DefaultSizeClassMap::kParameters;
  hint_ = {.most_blocks = usual.max_num_cached,
           .most_bytes = std::size_t{1} << usual.max_bytes_cached_log,
           .least_blocks = usual.min_num_cached};
  command_ = app.add_subcommand("classes",
                                "snug classes MAP [options], or snug classes fit HISTOGRAM|TRACE [options]\n"
                                "Show a size-class map, or find the best one for a program's sizes");
  command_->footer(kExamples);
  command_->add_option("MAP", map_, "default, dense, parameters or a map file");
  auto* compatible =
      command_->add_flag("--compat", compatible_, "As Scudo's DenseSizeClassMap was first printed, its wrong ids kept");
  command_->add_flag("--json", json_, "As JSON")->excludes(compatible);
  command_->add_option("--plot", plot_, "Draw the map")->type_name("FILE.svg|FILE.png");
  command_->add_option("-o", map_file_, "Write the map for SNUG_CONF=classes:FILE")->type_name("FILE");
  add_fit();
}

void ClassesCommand::add_fit() {
  fit_command_ = command_->add_subcommand("fit",
                                          "snug classes fit HISTOGRAM|TRACE [options]\n"
                                          "Find the size-class map that costs a program least");
  fit_command_->footer(kFitExamples);
  fit_command_->add_option("FILE", sizes_, "Histogram or trace; - is standard input")->required();
  add_process_option(*fit_command_, process_);
  fit_command_
      ->add_option("--of", counted_, "Which blocks of a trace count: those live at its peak, or all; peak unless given")
      ->check(CLI::IsMember({"peak", "all"}))
      ->type_name("BLOCKS");
  fit_command_->add_option("--max-classes", max_classes_, "Most classes")
      ->check(number_within(std::size_t{1}, kMaxClasses - 1))
      ->capture_default_str()
      ->type_name("N");
  fit_command_->add_option("--largest", largest_, "Size of the largest class, 64K to 256K")
      ->transform(CLI::AsSizeValue(false))
      ->transform(not_negative())
      ->capture_default_str()
      ->type_name("BYTES");
  fit_command_->add_option("--max-gap", max_gap_, "No class is more than so many times the one before; 1e6: no matter")
      ->check(number_within(1.0, 1e6))
      ->capture_default_str()
      ->type_name("RATIO");
  fit_command_->add_option("--threads", threads_, "Threads that have full caches at one time; 0 leaves caches out")
      ->check(number_within(std::size_t{0}, kMostThreads))
      ->capture_default_str()
      ->type_name("N");
  fit_command_->add_option("--cache", budget_, "Most bytes that one thread's cache holds, as SNUG_CONF's cache")
      ->transform(CLI::AsSizeValue(false))
      ->transform(not_negative())
      ->check(number_within(std::uint64_t{0}, kMostBudget))
      ->capture_default_str()
      ->type_name("BYTES");
  fit_command_->add_option("--cached-blocks", hint_.most_blocks, "Most blocks of a class that a thread caches …")
      ->check(number_within(std::size_t{1}, kMostCached))
      ->capture_default_str()
      ->type_name("N");
  fit_command_->add_option("--cached-bytes", hint_.most_bytes, "… or bytes, if that is less …")
      ->transform(CLI::AsSizeValue(false))
      ->transform(not_negative())
      ->capture_default_str()
      ->type_name("BYTES");
  fit_command_->add_option("--cached-least", hint_.least_blocks, "… but so many blocks at least")
      ->check(number_within(std::size_t{1}, kMostCached))
      ->capture_default_str()
      ->type_name("N");
  fit_command_->add_flag("--json", json_, "As JSON");
  fit_command_->add_option("--plot", plot_, "Draw the fit, default and dense")->type_name("FILE.svg|FILE.png");
  fit_command_->add_option("-o", map_file_, "Write the map for SNUG_CONF=classes:FILE")->type_name("FILE");
}

int ClassesCommand::execute() const {
  if (json_ && leads_to_output(map_file_)) throw both_on_standard_output();
  if (!map_file_.empty() && !plot_.empty() && names_one_file(map_file_, plot_))
    throw UserError(fmt::format("-o and --plot name one file, '{}'", printable(plot_)));
  const int status = fit_command_->parsed() ? fit_map() : show();
  // Behind a long table, and not on standard output, which may be JSON.
  for (const std::string& file : {map_file_, plot_}) {
    if (!file.empty()) say("snug: wrote {}\n", printable(file));
  }
  return status;
}

// JSON is for programs; a table goes by where the map stands on standard output.
void ClassesCommand::print(const std::string& text) const {
  if (json_) return write_output(kStandardOutput, text);
  PeopleText people(leads_to_output(map_file_));
  people.tell(text);
  people.finish();
}

int ClassesCommand::show() const {
  if (map_.empty())
    throw UserError("snug classes: name a map, as in: snug classes dense (--help lists what may stand)");
  const ClassesMap map = find_classes_map(map_);
  if (compatible_ && !map.parameters)
    throw UserError(fmt::format("--compat prints maps of the family; '{}' is a file", map_));
  if (!map_file_.empty()) write_output(map_file_, map_file_text(map, "snug classes " + map_));
  if (!plot_.empty()) write_plot(plot_, classes_svg({map}, {}));
  print(json_         ? json_text(classes_json(map), 2) + "\n"
        : compatible_ ? compatible_text(*map.parameters)
                      : classes_table(map));
  return EXIT_SUCCESS;
}

int ClassesCommand::fit_map() const {
  if (!map_.empty()) throw UserError(fmt::format("snug classes fit: '{}' stands before fit", map_));
  if (compatible_) throw UserError("snug classes fit: --compat prints maps of the family, and a fit is none");
  if (hint_.least_blocks > hint_.most_blocks) throw UserError("--cached-least is more than --cached-blocks");
  if (largest_ < kMediumSizeMax || largest_ > kLargestSizeMax || largest_ % step_at(largest_) != 0)
    throw UserError(fmt::format("--largest {}: from 64K to 256K, in steps of 4K", largest_));
  std::optional<TraceCount> counted;
  if (!counted_.empty()) counted = counted_ == "all" ? TraceCount::kAll : TraceCount::kPeak;
  const FitInput input = read_fit_file(sizes_, counted, process_);
  const FitTask task{.histogram = input.histogram,
                     .candidates = loadable_sizes(largest_),
                     .max_classes = max_classes_,
                     .threads = threads_,
                     .budget = budget_,
                     .hint = hint_,
                     .max_gap = max_gap_};
  const auto sizes = fit(task);
  if (!sizes) {
    throw UserError(fmt::format("{} classes do not reach {} bytes with gaps of at most {:g}: {} do", max_classes_,
                                largest_, max_gap_, fewest_classes(task)));
  }
  std::vector<ClassesMap> maps{map_of(*sizes, task.hint), find_classes_map("default"), find_classes_map("dense")};
  if (!map_file_.empty()) {
    write_output(map_file_,
                 map_file_text(maps.front(), fmt::format("snug classes fit {} --max-classes {}{}", sizes_, max_classes_,
                                                         counted == TraceCount::kAll ? " --of all" : "")));
  }
  if (!plot_.empty()) write_plot(plot_, classes_svg(maps, task.histogram));
  std::vector<PricedMap> priced;
  for (ClassesMap& map : maps) {
    const MapCost cost = cost_of(map, task);
    priced.push_back({std::move(map), cost});
  }
  print(json_ ? json_text(fit_json(task, input.trace, priced), 2) + "\n"
              : fit_table(task, input.trace, priced) + "\n" + classes_table(priced.front().map));
  return input.is_damaged ? kExitDamaged : EXIT_SUCCESS;
}

}  // namespace snug::tool
