#include "information.h"

#include <unistd.h>

#include <cstdio>

#include "snug/snug.h"

namespace cache_server {
namespace {

class Lines {
 public:
  void begin(const char* section) { text_ += (text_.empty() ? "# " : "\r\n# ") + std::string(section) + "\r\n"; }
  void add(const char* name, std::string_view value) {
    text_ += name;
    text_ += ':';
    text_ += value;
    text_ += "\r\n";
  }
  void add(const char* name, std::uint64_t value) { add(name, std::string_view(std::to_string(value))); }
  std::string text() && { return std::move(text_); }

 private:
  std::string text_;
};

std::string readable(std::size_t bytes) {
  constexpr const char* kUnits[] = {"B", "K", "M", "G", "T"};
  double amount = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; amount >= 1024 && unit + 1 != std::size(kUnits); ++unit) amount /= 1024;
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f%s" : "%.2f%s", amount, kUnits[unit]);
  return text;
}

std::string ratio_of(std::size_t part, std::size_t whole) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole));
  return text;
}

std::size_t resident_bytes() {
  unsigned long pages = 0;
  if (std::FILE* const file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%*u %lu", &pages) != 1) pages = 0;
    std::fclose(file);
  }
  return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

void add_memory(Lines& lines, const Store& store, const ServerFacts& facts) {
  const snug_compact_stats stats = store.stats();
  const std::size_t used = stats.bytes_blocks + stats.bytes_handles + stats.bytes_records;
  const std::size_t resident = resident_bytes();
  lines.begin("Memory");
  lines.add("used_memory", used);
  lines.add("used_memory_human", readable(used));
  lines.add("used_memory_rss", resident);
  lines.add("used_memory_rss_human", readable(resident));
  lines.add("mem_fragmentation_ratio", ratio_of(resident, used));
  lines.add("mem_clients_normal", facts.buffers);
  lines.add("mem_allocator", std::string("snug-") + snug_version());
  lines.add("compaction", facts.compacts ? "on" : "off");
  lines.add("compact_blocks", stats.blocks);
  lines.add("compact_bytes_blocks", stats.bytes_blocks);
  lines.add("compact_bytes_not_full", stats.bytes_not_full);
  lines.add("compact_bytes_handles", stats.bytes_handles);
  lines.add("compact_bytes_records", stats.bytes_records);
  lines.add("compact_moves", stats.moves);
  lines.add("compact_bytes_moved", stats.bytes_moved);
}

}  // namespace

std::string information(std::string_view section, const Store& store, const ServerFacts& facts, Moment now) {
  const bool is_all = section.empty() || section == "all" || section == "everything" || section == "default";
  Lines lines;
  if (is_all || section == "server") {
    lines.begin("Server");
    lines.add("server_name", "cache_server");
    lines.add("snug_version", snug_version());
    lines.add("process_id", static_cast<std::uint64_t>(getpid()));
    lines.add("tcp_port", static_cast<std::uint64_t>(facts.port));
    lines.add("uptime_in_seconds", static_cast<std::uint64_t>((now - facts.started_at) / 1000));
  }
  if (is_all || section == "clients") {
    lines.begin("Clients");
    lines.add("connected_clients", facts.clients);
  }
  if (is_all || section == "memory") add_memory(lines, store, facts);
  if (is_all || section == "stats") {
    lines.begin("Stats");
    lines.add("total_commands_processed", facts.commands);
  }
  if (is_all || section == "keyspace") {
    lines.begin("Keyspace");
    if (store.size() != 0)
      lines.add("db0", "keys=" + std::to_string(store.size()) + ",expires=" + std::to_string(store.expiring()));
  }
  return std::move(lines).text();
}

std::size_t bytes_of_value(std::string_view key, const Value& value) {
  constexpr std::size_t kHandles = 3 * (8 + 4);  // of the entry, of the key's characters and of the value's
  return sizeof(snug::CompactEntry<snug::CompactString, Value>) + key.size() + value.text.capacity() + kHandles;
}

}  // namespace cache_server
