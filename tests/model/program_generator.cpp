#include "program_generator.h"

#include <algorithm>
#include <iterator>
#include <random>

namespace snug::model {

namespace {

using Random = std::mt19937_64;

// 2^low … 2^high, each doubling as likely as any other.
size_t log_uniform(uint64_t random, unsigned low, unsigned high) {
  const unsigned exponent = low + static_cast<unsigned>((random >> 40) % (high - low));
  const size_t base = size_t{1} << exponent;
  return base + (random & (base - 1));
}

size_t edge(uint64_t random) {
  const size_t off_by = (random & 3) % 3;  // 0, 1, 2 stand for -1, 0, +1
  random >>= 2;
  const bool linear = (random & 1) != 0;
  random >>= 1;
  if (linear) return 16 * (1 + random % 64) + off_by - 1;
  const size_t doubling = size_t{128} << (random % 12);
  return doubling + doubling / 4 * ((random >> 8) & 3) + off_by - 1;
}

// Alignments 16 … 2 MiB, the small ones far likelier, as in life.
size_t alignment_from(uint64_t random) {
  const unsigned range = (random & 7) == 0 ? 18 : 9;
  return std::min(size_t{16} << ((random >> 3) % range), kLargestAlignment);
}

size_t comfortable_population(SizeMix mix) {
  switch (mix) {
    case SizeMix::kTiny:
      return 4000;
    case SizeMix::kLogUniform:
      return 400;
    case SizeMix::kEdges:
      return 800;
    case SizeMix::kLarge:
      return 24;
  }
  return 0;
}

class Writer {
 public:
  Writer(uint64_t seed, size_t length) : random_(seed), length_(length) { program_.reserve(length); }

  bool full() const { return program_.size() >= length_; }
  Program take() { return std::move(program_); }
  uint64_t draw(uint64_t bound) { return random_() % bound; }

  void allocate(SizeMix mix) {
    Operation operation;
    const uint64_t die = draw(16);
    operation.kind = die < 11   ? OperationKind::kMalloc
                     : die < 14 ? OperationKind::kCalloc
                                : OperationKind::kAlignedAlloc;
    operation.size = size_from(mix, random_());
    operation.alignment = alignment_from(random_());
    put(operation);
  }

  void resize(SizeMix mix) {
    Operation operation;
    operation.kind = OperationKind::kRealloc;
    operation.pick = static_cast<uint32_t>(random_());
    operation.size = size_from(mix, random_());
    put(operation);
  }

  void free(Choice choice) {
    Operation operation;
    operation.kind = draw(3) == 0 ? OperationKind::kFreeSized : OperationKind::kFree;
    operation.choice = choice;
    operation.pick = static_cast<uint32_t>(random_());
    put(operation);
  }

  // Many of one size, or as many of those alive; returns how many.
  uint64_t batch(OperationKind kind, SizeMix mix) {
    Operation operation;
    operation.kind = kind;
    operation.choice = draw(2) == 0 ? Choice::kNewest : Choice::kPick;
    operation.pick = static_cast<uint32_t>(random_());
    operation.size = size_from(mix, random_());
    operation.count = static_cast<uint32_t>(draw(comfortable_population(mix) / 4 + 2));
    put(operation);
    return operation.count;
  }

  void put(Operation operation) {
    if (!full()) program_.push_back(operation);
  }
  void put(OperationKind kind) {
    Operation operation;
    operation.kind = kind;
    operation.pick = static_cast<uint32_t>(random_());
    put(operation);
  }

 private:
  Random random_;
  size_t length_;
  Program program_;
};

// `operations` steps around a population that drifts between empty and comfortable.
void write_steady(Writer& writer, SizeMix mix, size_t operations) {
  const uint64_t comfortable = comfortable_population(mix);
  uint64_t live = 0;
  for (size_t i = 0; i < operations && !writer.full(); ++i) {
    const uint64_t die = writer.draw(1000);
    if (die < 2) {
      writer.put(OperationKind::kTrim);
    } else if (die < 30) {
      writer.put(OperationKind::kUsableSize);
    } else if (die < 150) {
      writer.resize(mix);
      live = std::max<uint64_t>(live, 1);
    } else if (die < 160 && live < comfortable) {
      live += writer.batch(OperationKind::kMallocBatch, mix);
    } else if (die < 170) {
      live -= std::min(live, writer.batch(OperationKind::kFreeBatch, mix));
    } else if (die < 180) {
      writer.put(OperationKind::kMove);
    } else if (writer.draw(2 * comfortable) >= live) {
      writer.allocate(mix);
      ++live;
    } else {
      writer.free(writer.draw(4) == 0 ? Choice::kNewest : Choice::kPick);
      --live;
    }
  }
}

void write_burst(Writer& writer, SizeMix mix) {
  static constexpr Choice kOrders[] = {Choice::kNewest, Choice::kOldest, Choice::kPick};
  const Choice order = kOrders[writer.draw(3)];
  const size_t blocks = comfortable_population(mix) / 4 + writer.draw(comfortable_population(mix));
  const size_t survivors = writer.draw(4) == 0 ? writer.draw(blocks / 8 + 1) : 0;
  for (size_t i = 0; i < blocks; ++i) writer.allocate(mix);
  for (size_t i = survivors; i < blocks; ++i) writer.free(order);
  if (writer.draw(8) == 0) writer.put(OperationKind::kTrim);
}

void write_phase(Writer& writer, SizeMix mix, size_t operations) {
  write_steady(writer, mix, operations);
  // Most of the phase dies at its end, in age order; the rest lingers as holes in the next phase's way.
  for (size_t i = 0; i < comfortable_population(mix) * 7 / 8; ++i) writer.free(Choice::kOldest);
}

}  // namespace

size_t size_from(SizeMix mix, uint64_t random) {
  switch (mix) {
    case SizeMix::kTiny:
      return random % 129;
    case SizeMix::kLogUniform:
      return log_uniform(random, 0, 22);
    case SizeMix::kEdges:
      return edge(random);
    case SizeMix::kLarge:
      return log_uniform(random, 16, 26);
  }
  return 0;
}

Program generate(Shape shape, uint64_t seed, size_t length) {
  Writer writer(seed, length);
  static constexpr SizeMix kMixes[] = {SizeMix::kTiny, SizeMix::kLogUniform, SizeMix::kEdges, SizeMix::kLarge};
  size_t phase = static_cast<size_t>(shape.sizes);
  while (!writer.full()) {
    switch (shape.rhythm) {
      case Rhythm::kSteady:
        write_steady(writer, shape.sizes, length);
        break;
      case Rhythm::kBursts:
        write_burst(writer, shape.sizes);
        break;
      case Rhythm::kPhases:
        write_phase(writer, kMixes[phase++ % std::size(kMixes)], length / 8 + 1);
        break;
    }
  }
  return writer.take();
}

const char* name_of(SizeMix mix) {
  switch (mix) {
    case SizeMix::kTiny:
      return "Tiny";
    case SizeMix::kLogUniform:
      return "LogUniform";
    case SizeMix::kEdges:
      return "Edges";
    case SizeMix::kLarge:
      return "Large";
  }
  return "";
}

const char* name_of(Rhythm rhythm) {
  switch (rhythm) {
    case Rhythm::kSteady:
      return "Steady";
    case Rhythm::kBursts:
      return "Bursts";
    case Rhythm::kPhases:
      return "Phases";
  }
  return "";
}

}  // namespace snug::model
