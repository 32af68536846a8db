#include "operation.h"

#include <ostream>
#include <sstream>

namespace snug::model {

bool is_allocation(OperationKind kind) {
  return kind == OperationKind::kMalloc || kind == OperationKind::kCalloc || kind == OperationKind::kAlignedAlloc;
}

namespace {

void write_choice(std::ostream& out, const Operation& operation) {
  switch (operation.choice) {
    case Choice::kNewest:
      out << "newest";
      return;
    case Choice::kOldest:
      out << "oldest";
      return;
    case Choice::kPick:
      out << "#" << operation.pick;
      return;
  }
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Operation& operation) {
  switch (operation.kind) {
    case OperationKind::kMalloc:
      return out << "malloc(" << operation.size << ")";
    case OperationKind::kCalloc:
      return out << "calloc(1, " << operation.size << ")";
    case OperationKind::kAlignedAlloc:
      return out << "aligned_alloc(" << operation.alignment << ", " << operation.size << ")";
    case OperationKind::kMallocBatch:
      return out << "malloc_batch(" << operation.size << ", " << operation.count << " blocks)";
    case OperationKind::kTrim:
      return out << "malloc_trim(0)";
    case OperationKind::kVerifyAll:
      return out << "verify all";
    case OperationKind::kRealloc:
      out << "realloc(";
      break;
    case OperationKind::kFree:
      out << "free(";
      break;
    case OperationKind::kFreeSized:
      out << "free_sized(";
      break;
    case OperationKind::kFreeBatch:
      out << "free_batch(" << operation.count << " blocks from ";
      break;
    case OperationKind::kMove:
      out << "move(";
      break;
    case OperationKind::kUsableSize:
      out << "usable_size(";
      break;
  }
  write_choice(out, operation);
  if (operation.kind == OperationKind::kRealloc) out << ", " << operation.size;
  return out << ")";
}

std::string describe(const Program& program, size_t limit) {
  std::ostringstream out;
  for (size_t i = 0; i < program.size() && i < limit; ++i) out << "  " << i << ": " << program[i] << "\n";
  if (program.size() > limit) out << "  … " << program.size() - limit << " more\n";
  return out.str();
}

}  // namespace snug::model
