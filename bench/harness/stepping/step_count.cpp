// step_count: how many instructions a malloc executes, counted by single-stepping it.
//
//   step_count --subject PATH [--allocator LIB] [--kind single|batch|pairs] [--json] [--max BOUNDS.json]
//       prints the counts; with --max, a test that none is above its bound
//   step_count --subject PATH [--allocator LIB] --cliff FACTOR
//       a test that no size costs more than FACTOR times its neighbours
//
// Exit status 0 if all holds, 1 if a count is above its bound, 2 if the counting itself failed.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>

#include <map>
#include <string>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

namespace snug::stepping {
namespace {

constexpr int kExceeded = 1;
constexpr int kBroken = 2;

// What the subject's first, hand-written callee has, ret included: proof that the counting is right.
constexpr double kCalibrationCount = 5;

struct Options {
  std::string subject;
  std::string allocator;
  std::string bounds;
  std::string kind;  // both if empty
  double cliff = 0;
  bool json = false;
};

std::optional<Options> parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--json") {
      options.json = true;
      continue;
    }
    if (i + 1 == argc) return std::nullopt;
    const char* const value = argv[++i];
    if (word == "--subject")
      options.subject = value;
    else if (word == "--allocator")
      options.allocator = value;
    else if (word == "--kind")
      options.kind = value;
    else if (word == "--max")
      options.bounds = value;
    else if (word == "--cliff")
      options.cliff = std::strtod(value, nullptr);
    else
      return std::nullopt;
  }
  if (options.subject.empty()) return std::nullopt;
  return options;
}

const char* name_of_allocator(const Options& options) {
  return options.allocator.empty() ? "glibc" : options.allocator.c_str();
}

// Instructions per operation, one entry a counted call.
using Counts = std::map<std::string, std::vector<double>>;

[[noreturn]] void become_subject(const Options& options, const std::string& kind) {
  // The allocator is preloaded here and not before: this program must not run on it.
  if (options.allocator.empty()) {
    unsetenv("LD_PRELOAD");
  } else {
    setenv("LD_PRELOAD", options.allocator.c_str(), 1);
  }
  execl(options.subject.c_str(), options.subject.c_str(), kind.c_str(), static_cast<char*>(nullptr));
  _exit(127);
}

// Adds to `counts`. False if the subject failed.
bool run_subject(const Options& options, const std::string& kind, Counts& counts) {
  int ends[2];
  if (pipe(ends) != 0) return false;
  const pid_t child = fork();
  if (child < 0) return false;
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    close(ends[0]);
    close(ends[1]);
    become_subject(options, kind);
  }
  close(ends[1]);
  FILE* const lines = fdopen(ends[0], "r");
  char name[64];
  unsigned long long instructions = 0;
  unsigned long long operations = 0;
  while (std::fscanf(lines, "%63s %llu %llu", name, &instructions, &operations) == 3) {
    counts[name].push_back(static_cast<double>(instructions) / static_cast<double>(operations));
  }
  std::fclose(lines);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// Single calls: the median, as the warm path is asked for. Batches: the mean, as every flush and refill has its share.
double figure_of(const std::string& name, std::vector<double> samples) {
  if (name.starts_with("batch_")) {
    double sum = 0;
    for (const double sample : samples) sum += sample;
    return sum / static_cast<double>(samples.size());
  }
  std::nth_element(samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2), samples.end());
  return samples[samples.size() / 2];
}

using Figures = std::map<std::string, double>;

// "malloc/64" sorts before "malloc/1024".
std::vector<std::string> in_reading_order(const Figures& figures) {
  std::vector<std::string> names;
  for (const auto& [name, figure] : figures) names.push_back(name);
  const auto key = [](const std::string& name) {
    const size_t slash = name.find('/');
    return std::pair(name.substr(0, slash), std::strtoull(name.c_str() + slash + 1, nullptr, 10));
  };
  std::sort(names.begin(), names.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
  return names;
}

void print_table(const Figures& figures) {
  for (const std::string& name : in_reading_order(figures))
    std::printf("%-32s %8.1f\n", name.c_str(), figures.at(name));
}

void print_json(const Figures& figures, const char* allocator) {
  std::printf("{\"allocator\":\"%s\",\"counts\":{", allocator);
  const char* separator = "";
  for (const std::string& name : in_reading_order(figures)) {
    std::printf("%s\"%s\":%.2f", separator, name.c_str(), figures.at(name));
    separator = ",";
  }
  std::printf("}}\n");
}

// A flat object of name to number, which is all a bounds file is. Nothing if it is anything else.
std::optional<Figures> read_bounds(const std::string& path) {
  std::ifstream file(path);
  if (!file) return std::nullopt;
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  Figures bounds;
  size_t at = 0;
  while ((at = text.find('"', at)) != std::string::npos) {
    const size_t end = text.find('"', at + 1);
    const size_t colon = end == std::string::npos ? end : text.find_first_not_of(" \t\n", end + 1);
    if (colon == std::string::npos || text[colon] != ':') return std::nullopt;
    char* after = nullptr;
    const double bound = std::strtod(text.c_str() + colon + 1, &after);
    if (after == text.c_str() + colon + 1) return std::nullopt;
    bounds[text.substr(at + 1, end - at - 1)] = bound;
    at = static_cast<size_t>(after - text.c_str());
  }
  return bounds.empty() ? std::nullopt : std::optional(bounds);
}

// Counts are held against their bounds to a tenth: a batch's loop has a prologue, spread over its 512 operations.
constexpr double kTolerance = 0.05;

int hold_against(const Figures& bounds, const Figures& figures, const std::string& kind) {
  int status = 0;
  for (const auto& [name, bound] : bounds) {
    if (!kind.empty() && name.starts_with("batch_") != (kind == "batch")) continue;
    const auto figure = figures.find(name);
    if (figure == figures.end()) {
      std::printf("%s: bounded by %.1f but not measured\n", name.c_str(), bound);
      status = kBroken;
    } else if (figure->second > bound + kTolerance) {
      std::printf("%s: %.1f instructions, above its bound of %.1f\n", name.c_str(), figure->second, bound);
      status = std::max(status, kExceeded);
    }
  }
  return status;
}

// Neighbours are the next size below and above. A size that costs more than either times the factor is a cliff's edge.
int find_cliffs(const Figures& figures, double factor) {
  std::map<unsigned long long, double> pair_cost;
  for (const auto& [name, figure] : figures) {
    if (const size_t slash = name.find('/'); slash != std::string::npos) {
      pair_cost[std::strtoull(name.c_str() + slash + 1, nullptr, 10)] += figure;
    }
  }
  int status = 0;
  const std::pair<const unsigned long long, double>* previous = nullptr;
  for (const auto& entry : pair_cost) {
    if (previous != nullptr) {
      const double low = std::min(previous->second, entry.second);
      const double high = std::max(previous->second, entry.second);
      if (high > low * factor) {
        std::printf("a cliff: malloc + free of %llu bytes cost %.0f instructions, of %llu bytes %.0f\n",
                    previous->first, previous->second, entry.first, entry.second);
        status = kExceeded;
      }
    }
    previous = &entry;
  }
  return status;
}

std::vector<std::string> kinds_of(const Options& options) {
  if (options.cliff > 0) return {"sweep"};
  if (!options.kind.empty()) return {options.kind};
  return {"single", "batch"};
}

int run(const Options& options) {
  Counts counts;
  for (const std::string& kind : kinds_of(options)) {
    if (run_subject(options, kind, counts)) continue;
    std::fprintf(stderr, "step_count: %s failed on %s\n", options.subject.c_str(), name_of_allocator(options));
    return kBroken;
  }
  Figures figures;
  for (const auto& [name, samples] : counts) figures[name] = figure_of(name, samples);
  if (figures["calibration"] != kCalibrationCount) {
    std::fprintf(stderr, "step_count: counts %.0f where there are %.0f instructions\n", figures["calibration"],
                 kCalibrationCount);
    return kBroken;
  }
  figures.erase("calibration");
  if (options.json) {
    print_json(figures, name_of_allocator(options));
  } else {
    print_table(figures);
  }
  if (options.cliff > 0) return find_cliffs(figures, options.cliff);
  if (options.bounds.empty()) return 0;
  const std::optional<Figures> bounds = read_bounds(options.bounds);
  if (!bounds) {
    std::fprintf(stderr, "step_count: %s is not a file of bounds\n", options.bounds.c_str());
    return kBroken;
  }
  return hold_against(*bounds, figures, options.kind);
}

}  // namespace
}  // namespace snug::stepping

int main(int argc, char** argv) {
  const auto options = snug::stepping::parse(argc, argv);
  if (!options) {
    std::fprintf(
        stderr,
        "usage: step_count --subject PATH [--allocator LIB] [--kind single|batch|pairs] [--json] [--max BOUNDS.json | "
        "--cliff FACTOR]\n");
    return snug::stepping::kBroken;
  }
  return snug::stepping::run(*options);
}
