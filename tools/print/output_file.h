// OutputFile: a file that a command writes, or standard output. What stood there stays until the new file is whole: it
// is written beside it, as PATH.part (or .part2 …), and gets the name, and the rights of what stood there, by finish().
// What is no regular file (a device, a pipe), and a file in a folder that takes no other, is written as it stands.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace snug::tool {

inline constexpr const char* kStandardOutput = "-";  // as a path

// True if what is written there is standard output's: "-", or a file that this is too, as of /dev/stdout.
bool leads_to_output(const std::string& path);

enum class Readers { kAll, kOwner };  // of a new file: as the umask says, or its owner alone

class OutputFile {
 public:
  // Throws UserError with status 1 if it cannot be written.
  explicit OutputFile(const std::string& path, Readers readers = Readers::kAll);
  // Without finish() nothing has changed at the path, if that was possible.
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  bool is_standard_output() const { return path_ == kStandardOutput; }
  // What could not be written is told by finish().
  void put(std::string_view text);
  std::FILE* stream() const { return file_; }
  // Throws UserError with status 1 if some of it could not be written.
  void finish();

 private:
  bool open_part(Readers readers);
  void drop();

  std::string path_;
  std::string part_;  // empty: there is none
  std::FILE* file_;
  int error_ = 0;  // the errno of the first put() that failed
};

// All at once.
void write_output(const std::string& path, std::string_view text, Readers readers = Readers::kAll);

}  // namespace snug::tool
