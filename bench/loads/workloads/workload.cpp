#include "workload.h"

#include <dlfcn.h>
#include <fnmatch.h>

#include <cmath>
#include <optional>

#include "proc_field.h"

namespace workload {

namespace {

constexpr int kExitUsage = 2;

[[noreturn]] void refuse(const std::string& why) {
  std::fprintf(stderr, "%s: %s (%s --help lists the options)\n", kProgram.name, why.c_str(), kProgram.name);
  std::exit(kExitUsage);
}

[[noreturn]] void print_help() {
  const char* const none = "has no effect here";
  const Options& defaults = kProgram.defaults;
  std::printf("usage: %s [--OPTION VALUE]...\n\n%s\n\nFigures: %s\n\n", kProgram.name, kProgram.what, kProgram.figures);
  if (kProgram.threads != nullptr)
    std::printf("  --threads N      %s (default %u)\n", kProgram.threads, defaults.threads);
  else
    std::printf("  --threads N      %s\n", none);
  if (kProgram.sizes != nullptr)
    std::printf("  --size BYTES     of each block (default: %s)\n", kProgram.sizes);
  else
    std::printf("  --size BYTES     %s\n", none);
  std::printf(R"(  --rounds N       a figure is the median of so many (default %u)
  --seed N         of the first round; each has its own (default %llu)
  --scale X        how much is done, as a factor (default %g)
  --verify N       read one block in N back when it is freed; all are written (default %u)
  --only GLOB,...  measure only the figures with names that match (default: all)

Prints the figures as rows (a time for an operation with its operations a second), then as one line of JSON; writes them
to the file $SNUG_FIGURES too, if that is set.
Runs on whatever malloc is preloaded: snug run --compare jemalloc -- %s
)",
              defaults.rounds, static_cast<unsigned long long>(defaults.seed), defaults.scale, defaults.verify,
              kProgram.name);
  std::exit(0);
}

double parse_number(const std::string& option, const char* text) {
  char* end = nullptr;
  const double number = std::strtod(text, &end);
  if (end == text || *end != '\0' || !(number >= 0)) refuse(option + ": not a number: '" + text + "'");
  if (option != "--scale" && number != std::floor(number)) refuse(option + ": not a whole number");
  if (number == 0 && option != "--size" && option != "--seed") refuse(option + ": more than 0, please");
  return number;
}

Options parse_options(int argc, char** argv) {
  Options options = kProgram.defaults;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--help" || word == "-h") print_help();
    if (i + 1 == argc) refuse("'" + word + "' is unknown, or lacks its value");
    const char* const value = argv[++i];
    const auto number = [&] { return parse_number(word, value); };
    if (word == "--threads")
      options.threads = static_cast<unsigned>(number());
    else if (word == "--size")
      options.size = static_cast<size_t>(number());
    else if (word == "--seed")
      options.seed = static_cast<uint64_t>(number());
    else if (word == "--rounds")
      options.rounds = static_cast<unsigned>(number());
    else if (word == "--scale")
      options.scale = number();
    else if (word == "--verify")
      options.verify = static_cast<unsigned>(number());
    else if (word == "--only")
      options.only = value;
    else
      refuse("unknown option '" + word + "'");
  }
  return options;
}

// A time for an operation, told as operations a second as well; of one thread, where each thread has its own average.
std::string rate_text(const char* unit, double value) {
  if (value <= 0) return {};
  char text[48] = "";
  if (std::strcmp(unit, "ns") == 0) std::snprintf(text, sizeof text, "  (%.2f M/s)", 1e3 / value);
  if (std::strcmp(unit, "us") == 0) std::snprintf(text, sizeof text, "  (%.2f k/s)", 1e3 / value);
  return text;
}

}  // namespace

void fail(const char* why) {
  std::fprintf(stderr, "%s: failed: %s\n", kProgram.name, why);
  std::exit(1);
}

Trim find_trim() {
  void* const trim = dlsym(RTLD_DEFAULT, "malloc_trim");
  void* const serving = dlsym(RTLD_DEFAULT, "malloc");
  Dl_info of_trim{};
  Dl_info of_malloc{};
  if (trim == nullptr || dladdr(trim, &of_trim) == 0 || dladdr(serving, &of_malloc) == 0) return nullptr;
  return of_trim.dli_fbase == of_malloc.dli_fbase ? reinterpret_cast<Trim>(trim) : nullptr;
}

size_t rollup_kib(const char* field) {
  const std::optional<size_t> kib = proc_field_kib("/proc/self/smaps_rollup", field);
  if (!kib) fail("a field is missing in /proc/self/smaps_rollup");
  return *kib;
}

bool Report::wants(const std::string& name) const {
  for (const char* at = options_.only;;) {
    char pattern[64];
    const size_t length = std::strcspn(at, ",");
    if (length >= sizeof pattern) refuse("--only: a pattern is too long");
    std::memcpy(pattern, at, length);
    pattern[length] = '\0';
    if (fnmatch(pattern, name.c_str(), 0) == 0) return true;
    if (at[length] == '\0') return false;
    at += length + 1;
  }
}

void Report::write_figures(const char* path) const {
  std::FILE* const file = std::fopen(path, "w");
  if (file == nullptr) fail("cannot write the file $SNUG_FIGURES");
  const char* separator = "{";
  for (const auto& [figure, value] : rows_) {
    const bool a_second = std::strstr(figure.unit, "/s") != nullptr;
    std::fprintf(file, "%s\"%s\": {\"value\": %.4f, \"unit\": \"%s\", \"better\": \"%s\"}", separator,
                 figure.name.c_str(), value, figure.unit, a_second ? "higher" : "lower");
    separator = ",\n";
  }
  std::fprintf(file, "}\n");
  if (std::fclose(file) != 0) fail("cannot write the file $SNUG_FIGURES");
}

void Report::print() const {
  if (rows_.empty()) refuse("--only matches no figure");
  for (const auto& [figure, value] : rows_)
    std::printf("%-18s %-34s %12.2f %s%s\n", kProgram.name, figure.name.c_str(), value, figure.unit,
                rate_text(figure.unit, value).c_str());
  std::printf("{\"workload\":\"%s\",\"threads\":%u,\"size\":%zu,\"seed\":%" PRIu64 ",\"rounds\":%u,\"results\":[",
              kProgram.name, options_.threads, options_.size, options_.seed, options_.rounds);
  const char* separator = "";
  for (const auto& [figure, value] : rows_) {
    std::printf("%s{\"name\":\"%s\",\"value\":%.4f,\"unit\":\"%s\"}", separator, figure.name.c_str(), value,
                figure.unit);
    separator = ",";
  }
  std::printf("]}\n");
  if (const char* const path = std::getenv("SNUG_FIGURES")) write_figures(path);
}

}  // namespace workload

int main(int argc, char** argv) {
  using namespace workload;
  const Options options = parse_options(argc, argv);
  Report report(options);
  measure_all(options, report);
  report.print();
}
