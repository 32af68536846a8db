#include "profile/pprof_file.h"

#include "base/text.h"
#include "os/code_mappings.h"
#include "profile/protobuf_text.h"

namespace snug {
namespace {

// Numbers of fields in profile.proto.
namespace profile_field {
constexpr uint32_t kSampleType = 1, kSample = 2, kMapping = 3, kLocation = 4, kString = 6, kTime = 9, kDuration = 10,
                   kPeriodType = 11, kPeriod = 12, kDefaultSampleType = 14;
}
namespace type_field {
constexpr uint32_t kType = 1, kUnit = 2;
}
namespace sample_field {
constexpr uint32_t kLocations = 1, kValues = 2;
}
namespace mapping_field {
constexpr uint32_t kId = 1, kStart = 2, kEnd = 3, kOffset = 4, kPath = 5, kBuildId = 6;
}
namespace location_field {
constexpr uint32_t kId = 1, kMapping = 2, kAddress = 3;
}

// The first strings of the table, by number.
constexpr const char* kFirstTexts[] = {"",
                                       "count",
                                       "bytes",
                                       "space",
                                       "alloc_objects",
                                       "alloc_space",
                                       "inuse_objects",
                                       "inuse_space",
                                       "peak_objects",
                                       "peak_space"};
enum TextNumber : uint32_t { kCount = 1, kBytes = 2, kSpace = 3, kFirstType = 4, kInuseSpace = 7, kTypes = 6 };

uint64_t rounded(double number) { return number <= 0 ? 0 : static_cast<uint64_t>(number + 0.5); }

// Writes the numbers of the nodes of a site's calls, the innermost first; returns how many.
size_t take_calls(const HeapProfile::Copy& profile, const HeapProfile::Site& site,
                  uint64_t (&calls)[SampledStack::kMost]) {
  size_t count = 0;
  for (uint32_t node = site.node; node != 0 && count != SampledStack::kMost; node = profile.nodes[node].parent)
    calls[count++] = node;
  return count;
}

class PprofWriter {
 public:
  PprofWriter(os::OutputStream& out, const HeapProfile::Copy& profile) : out_(out), profile_(profile) {}

  void write(size_t mean, uint64_t now_ns) {
    write_strings();
    write_types(mean);
    // Strings and mappings are written as they are met; the locations refer to the mappings.
    os::for_each_code_mapping(
        [](void* writer, const os::CodeMapping& mapping) { static_cast<PprofWriter*>(writer)->add_mapping(mapping); },
        this);
    for (uint32_t i = 1; i < profile_.node_count; ++i) write_location(i);
    for (uint32_t i = 0; i != profile_.site_count; ++i) write_sample(profile_.sites[i]);
    Message<64> times;
    times.add_number(profile_field::kTime, profile_.started_ns);
    if (now_ns > profile_.started_ns) times.add_number(profile_field::kDuration, now_ns - profile_.started_ns);
    out_.put(times.data(), times.size());
  }

 private:
  template <size_t Capacity>
  using Message = ProtobufText<Capacity>;
  // Mappings that are remembered: addresses in later ones belong to no mapping.
  static constexpr uint32_t kMostMappings = 512;

  template <size_t Capacity>
  void put(uint32_t field, const Message<Capacity>& message) {
    Message<Capacity + 2 * kMostVarint> whole;
    whole.add(field, message);
    out_.put(whole.data(), whole.size());
  }
  // Returns the number of the string.
  uint32_t put_string(const char* text, size_t length) {
    Message<2048> whole;
    constexpr size_t kMost = 2048 - 2 * kMostVarint;
    whole.add_bytes(profile_field::kString, text, length < kMost ? length : kMost);
    out_.put(whole.data(), whole.size());
    return strings_++;
  }

  void write_strings() {
    for (const char* word : kFirstTexts) put_string(word, strlen(word));
  }
  void write_types(size_t mean) {
    for (uint32_t i = 0; i != kTypes; ++i)
      put(profile_field::kSampleType, Message<32>()
                                          .add_number(type_field::kType, kFirstType + i)
                                          .add_number(type_field::kUnit, i % 2 == 0 ? kCount : kBytes));
    put(profile_field::kPeriodType,
        Message<32>().add_number(type_field::kType, kSpace).add_number(type_field::kUnit, kBytes));
    Message<64> rest;
    rest.add_number(profile_field::kPeriod, mean).add_number(profile_field::kDefaultSampleType, kInuseSpace);
    out_.put(rest.data(), rest.size());
  }

  void add_mapping(const os::CodeMapping& mapping) {
    if (mappings_ == kMostMappings) return;
    starts_[mappings_] = mapping.start;
    ends_[mappings_] = mapping.end;
    ++mappings_;
    Text<65> build_id;
    for (size_t i = 0; i != mapping.build_id_bytes; ++i) {
      build_id.put("0123456789abcdef"[mapping.build_id[i] >> 4]);
      build_id.put("0123456789abcdef"[mapping.build_id[i] & 15]);
    }
    Message<128> message;
    message.add_number(mapping_field::kId, mappings_)
        .add_number(mapping_field::kStart, mapping.start)
        .add_number(mapping_field::kEnd, mapping.end)
        .add_number(mapping_field::kOffset, mapping.offset)
        .add_number(mapping_field::kPath, put_string(mapping.path, strlen(mapping.path)));
    if (build_id.size() != 0) message.add_number(mapping_field::kBuildId, put_string(build_id.data(), build_id.size()));
    put(profile_field::kMapping, message);
  }

  // The number of the mapping that the address lies in, 0 if it is none.
  uint32_t mapping_of(uintptr_t address) const {
    for (uint32_t first = 0, last = mappings_; first != last;) {
      const uint32_t middle = first + (last - first) / 2;
      if (address >= starts_[middle] && address < ends_[middle]) return middle + 1;
      if (address < starts_[middle])
        last = middle;
      else
        first = middle + 1;
    }
    return 0;
  }

  // A node's number is that of its location, though nodes of several stacks may have one address.
  void write_location(uint32_t node) {
    const uintptr_t address = profile_.nodes[node].address;
    put(profile_field::kLocation, Message<64>()
                                      .add_number(location_field::kId, node)
                                      .add_number(location_field::kMapping, mapping_of(address))
                                      .add_number(location_field::kAddress, address));
  }

  void write_sample(const HeapProfile::Site& site) {
    if (site.allocated.blocks <= 0) return;
    uint64_t calls[SampledStack::kMost];
    const size_t count = take_calls(profile_, site, calls);
    const ProfileSum* const sums[] = {&site.allocated, &site.live, &site.peak};
    uint64_t values[kTypes];
    for (size_t i = 0; i != 3; ++i) {
      values[2 * i] = rounded(sums[i]->blocks);
      values[2 * i + 1] = rounded(sums[i]->bytes);
    }
    put(profile_field::kSample, Message<1024>()
                                    .add_packed(sample_field::kLocations, calls, count)
                                    .add_packed(sample_field::kValues, values, kTypes));
  }

  os::OutputStream& out_;
  const HeapProfile::Copy& profile_;
  uint32_t strings_ = 0;
  uint32_t mappings_ = 0;
  uintptr_t starts_[kMostMappings];
  uintptr_t ends_[kMostMappings];
};

}  // namespace

void write_pprof(os::OutputStream& out, const HeapProfile::Copy& profile, size_t mean, uint64_t now_ns) {
  PprofWriter(out, profile).write(mean, now_ns);
}

void write_collapsed(os::OutputStream& out, const HeapProfile::Copy& profile) {
  for (uint32_t i = 0; i != profile.site_count; ++i) {
    const HeapProfile::Site& site = profile.sites[i];
    if (rounded(site.live.bytes) == 0) continue;
    uint64_t calls[SampledStack::kMost];
    const size_t count = take_calls(profile, site, calls);
    Text<SampledStack::kMost * 20 + 64> line;
    if (count == 0) line.add("unknown");
    for (size_t c = count; c != 0; --c) line.add_hex(profile.nodes[calls[c - 1]].address).add(c != 1 ? ";" : "");
    line.add(" ").add(rounded(site.live.bytes)).add("\n");
    out.put(line.data(), line.size());
  }
}

}  // namespace snug
