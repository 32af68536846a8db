// Trace files of any bytes: read without fault, in bounded memory; what is told is counted; read again, they say the
// same; what was read can be written, and read again without damage. The checksums are put right first, unless the
// first byte says no: random bytes never have them.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "trace/chunk_directory.h"
#include "trace/trace_account.h"
#include "trace/trace_file.h"
#include "trace/trace_reader.h"

namespace snug::trace {
namespace {

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "trace_file: %s\n", what);
  std::abort();
}

// Goes from span to span as a reader does.
void mend_checksums(std::vector<std::uint8_t>& bytes) {
  if (bytes.size() < sizeof(FileHeader)) return;
  auto file = part_at<FileHeader>(bytes.data());
  file.magic = kFileMagic;
  file.version = kVersion;
  file.checksum = checksum_of(file);
  std::memcpy(bytes.data(), &file, sizeof file);
  for (std::size_t at = sizeof file; bytes.size() - at >= sizeof(ChunkHeader);) {
    auto header = part_at<ChunkHeader>(bytes.data() + at);
    const std::size_t left = bytes.size() - at - sizeof header;
    header.magic = kChunkMagic;
    header.begin_checksum = begin_checksum_of(header);
    if (header.stored_bytes <= left) header.end_checksum = end_checksum_of(header, bytes.data() + at + sizeof header);
    std::memcpy(bytes.data() + at, &header, sizeof header);
    if (header.span < sizeof header || header.span % kChunkAlign != 0 || header.span > bytes.size() - at) return;
    at += header.span;
  }
}

struct Sum {
  std::uint64_t events = 0;
  std::uint64_t faults = 0;
  std::uint64_t bytes = 0;
  friend bool operator==(const Sum&, const Sum&) = default;
};

Sum read(const std::vector<std::uint8_t>& bytes, TraceFile* copy) {
  Sum sum;
  MemorySource source(bytes);
  std::uint64_t told = 0;
  Damage damage([&](std::uint64_t offset, const std::string& what) {
    ++told;
    expect(offset <= bytes.size() && !what.empty() && what.find('\n') == std::string::npos, "a fault is one line");
  });
  std::string refusal;
  const auto directory = ChunkDirectory::read(source, damage, refusal);
  expect(directory.has_value() == refusal.empty(), "a refusal is told both ways");
  if (!directory) return sum;
  for (const auto& [number, chunks] : directory->by_process()) {
    read_facts(source, chunks, damage);
    TraceReader reader(source, chunks, damage);
    TraceAccount account;
    Event event;
    while (reader.next(event)) {
      account.add(event);
      sum.bytes += event.size;
      // A turn that rises, or time, may pass the end of 64 bits when threads are brought together; not in one of them.
      if (copy != nullptr) copy->add(event);
    }
    expect(reader.chunks_read() == reader.chunks(), "every chunk is looked at");
    sum.events += account.events();
  }
  expect(told == damage.faults() && damage.damaged_chunks() <= told, "what is told is counted");
  sum.faults = told;
  return sum;
}

std::vector<std::uint8_t> copy_of(const std::vector<std::uint8_t>& bytes, const Sum& first) {
  char* memory = nullptr;
  std::size_t count = 0;
  std::FILE* const file = ::open_memstream(&memory, &count);
  TraceFile copy(file, {.chunk_flags = kWithStacks, .level = 1, .chunk_bytes = 200});
  expect(read(bytes, &copy) == first, "a trace says the same twice");
  expect(copy.finish(), "a copy is written");
  std::fclose(file);
  std::vector<std::uint8_t> written(memory, memory + count);
  std::free(memory);
  return written;
}

}  // namespace
}  // namespace snug::trace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
  using namespace snug::trace;
  if (count == 0) return 0;
  std::vector<std::uint8_t> input(bytes + 1, bytes + count);
  if (bytes[0] != 'n') mend_checksums(input);
  const Sum first = read(input, nullptr);
  const Sum again = read(copy_of(input, first), nullptr);
  expect(again.faults == 0, "a copy has no damage");
  expect(again.events == first.events && again.bytes == first.bytes, "a copy has every event");
  return 0;
}
