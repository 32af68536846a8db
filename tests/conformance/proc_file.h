// A number in a file of /proc, which says of the process or the machine what no call does.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

// The number behind `label`; -1 if there is none. Allocates nothing.
inline long number_in(const char* path, const char* label, int base = 10) {
  char text[8192];
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t length = file < 0 ? -1 : read(file, text, sizeof text - 1);
  if (file >= 0) close(file);
  if (length <= 0) return -1;
  text[length] = 0;
  const char* place = std::strstr(text, label);
  return place == nullptr ? -1 : static_cast<long>(std::strtoul(place + std::strlen(label), nullptr, base));
}
