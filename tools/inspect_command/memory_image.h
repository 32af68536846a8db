// MemoryImage: the memory of a process that changes nothing any more: of one that has ended, in its core file, or of
// one that is stopped.
//
// A core may be damaged, truncated or hostile: what of it lies beyond the file's end is missing, and what makes no
// sense throws UserError with one line. Used by one thread.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "inspect_command/mapped_code.h"

namespace snug::tool {

class MemoryImage {
 public:
  // A part of the process's memory, in whole OS pages, and where in the file it is.
  struct Segment {
    std::uint64_t start = 0, end = 0;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;  // from `start` on that are in the file
    bool is_writable = false;
    bool is_truncated = false;  // more of it should be in the file
    bool is_of_file = false;    // something is mapped there that has a name
  };

  // Throws UserError unless it is a core of this machine's.
  static MemoryImage of_core(const std::string& path);
  // Of a process that is stopped, which we may trace. Throws UserError if we may not.
  static MemoryImage of_stopped(pid_t pid);
  ~MemoryImage();
  MemoryImage(MemoryImage&& other) noexcept;
  MemoryImage& operator=(MemoryImage&&) = delete;

  // What it is called in messages.
  const std::string& name() const { return name_; }
  // The number that the process had; 0 if the core does not tell.
  pid_t pid() const { return pid_; }
  int file() const { return file_; }
  const std::vector<Segment>& segments() const { return segments_; }  // by address
  // What was mapped where.
  const std::vector<Mapping>& mappings() const { return mappings_; }
  bool is_truncated() const { return is_truncated_; }

  const Segment* around(std::uint64_t address) const;
  // As much as there is of `size` bytes at an offset of the file.
  std::size_t read_file(std::uint64_t offset, void* bytes, std::size_t size) const;
  // The first byte of the file from the offset on that lies in no hole; UINT64_MAX if there is none.
  std::uint64_t data_from(std::uint64_t offset) const;
  // The build-id of the file that one of the mappings is of, by what the process had of the file's beginning in its
  // memory; empty if that is not here, or has none.
  std::string build_id_in_memory(const Mapping& mapping) const;

 private:
  MemoryImage(std::string name, int file) : name_(std::move(name)), file_(file) {}
  void read_core();
  void read_notes(std::uint64_t offset, std::uint64_t size);
  void read_mappings(std::span<const unsigned char> note);
  void sort_out();

  std::string name_;
  int file_ = -1;
  pid_t pid_ = 0;
  std::uint64_t file_size_ = 0;
  std::vector<Segment> segments_;
  std::vector<Mapping> mappings_;
  bool is_truncated_ = false;
};

}  // namespace snug::tool
