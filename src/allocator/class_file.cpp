#include "allocator/class_file.h"

#include "os/input_file.h"
#include "size/map_reader.h"

namespace snug {

bool read_class_file(const char* path, ClassList* classes, ClassFileFault* fault) {
  os::InputFile file(path);
  MapReader reader;
  char bytes[512];
  size_t count = 0;
  do count = file.read(bytes, sizeof bytes);
  while (count != 0 && reader.read(bytes, count));
  if (file.fault() != nullptr) {
    fault->add("expected default, dense or a map file's path: ").add(file.fault());
    return false;
  }
  if (!reader.finish()) {
    fault->add("line ").add(uint64_t{reader.line()}).add(": ").add(reader.fault());
    return false;
  }
  *classes = reader.classes();
  return true;
}

}  // namespace snug
