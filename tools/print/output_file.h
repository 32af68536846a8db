// OutputFile: a file that a command writes, or standard output. What stood there stays until the new file is whole: it
// is written beside it, as PATH.part (or .part2 …), and gets the name, and the rights of what stood there, by finish().
// What is no regular file (a device, a pipe), what has no name of its own (/dev/fd/3), a file in a folder that takes no
// other, and another user's in a sticky folder, as /tmp, is written as it stands, from its first put() on.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace snug::tool {

class UserError;

inline constexpr const char* kStandardOutput = "-";  // as a path

// True if what is written there is standard output's: "-", or a file, pipe or socket that this is too, as of
// /dev/stdout.
bool leads_to_output(const std::string& path);
// True if the two lead to one place: by links, by another spelling, or as two names of one file. Neither has to be
// there.
bool names_one_file(const std::string& path, const std::string& other);
// To be thrown where what -o writes and JSON would be one text.
UserError both_on_standard_output();

// Of a new file: as the umask says, or the file that it takes the place of; or its owner alone.
enum class Readers { kAll, kOwner };

class OutputFile {
 public:
  // Throws UserError with status 1 if it cannot be written.
  explicit OutputFile(const std::string& path, Readers readers = Readers::kAll);
  // Without finish() nothing has changed at the path, if that was possible.
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  bool is_standard_output() const { return path_ == kStandardOutput; }
  // True if a put() has met a pipe that nobody reads any more.
  bool has_lost_reader() const;
  // What could not be written is told by finish().
  void put(std::string_view text);
  std::FILE* stream();
  // Throws UserError with status 1 if some of it could not be written. If all of it is there, and only cannot get to
  // its place, it stays as PATH.part, which the error names.
  void finish();

 private:
  bool open_part(const std::string& place, Readers readers);
  void open_in_place(bool appends, Readers readers);
  void begin();
  void take_name();
  void drop();

  std::string path_;
  std::string part_;  // empty: there is none
  std::FILE* file_;
  bool has_old_ = false;  // what stood there, which goes by begin()
  int error_ = 0;         // the errno of the first put() that failed
};

// All at once.
void write_output(const std::string& path, std::string_view text, Readers readers = Readers::kAll);

}  // namespace snug::tool
