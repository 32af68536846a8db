// CallStacks: the frames and modules that a trace defines. A stack is a frame: an address, called from another frame.
//
//   a frame's caller was defined before it, and no frame twice
//
// so that every stack ends, whatever the file says: what cannot be is passed over, and counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "trace/event.h"

namespace snug::tool {

// Of a frame or of a module.
inline bool is_definition(const trace::Event& event) {
  return event.operation == trace::Operation::kModule || event.operation == trace::Operation::kFrame;
}

struct CallFrame {
  std::uint64_t caller = 0;   // 0: nobody
  std::uint64_t module = 0;   // 0: code of no file
  std::uint64_t address = 0;  // as in the module's symbol table
};

struct CallModule {
  std::string build_id;  // bytes
  std::string path;
};

class CallStacks {
 public:
  // Takes definitions; other events are none.
  void add(const trace::Event& event);

  // Innermost first, at most so many. None of a stack that is not defined.
  std::vector<CallFrame> frames_of(std::uint64_t stack, std::size_t most = kMostShown) const;
  const std::map<std::uint64_t, CallModule>& modules() const { return modules_; }
  const std::unordered_map<std::uint64_t, CallFrame>& frames() const { return frames_; }
  std::uint64_t faults() const { return faults_; }

  // "libc.so.6+0x2724a", or the address alone.
  std::string place_of(const CallFrame& frame) const;

 private:
  static constexpr std::size_t kMostShown = 1024;

  std::map<std::uint64_t, CallModule> modules_;
  std::unordered_map<std::uint64_t, CallFrame> frames_;
  std::uint64_t faults_ = 0;
};

}  // namespace snug::tool
