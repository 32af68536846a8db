// Every public template of the cell heap, instantiated whole, as a program does that keeps its heap's code in one file
// of its own, and under the warnings of strict users: that it compiles is the test.
#include "cell/cell_program.h"
#include "snug/cell/locked_cell_heap.h"
#include "snug/cell/real_time_region.h"
#include "snug/cell_heap.h"
#include "snug/cell_heap_c.h"
#include "snug/snug.h"

namespace snug {

template class BasicCellHeap<EmbeddedCellPolicy>;
template class BasicCellHeap<CellPolicy>;
template class BasicCellHeap<GrowingCellPolicy>;
template class BasicCellHeap<DebugCellPolicy>;
template class BasicCellHeap<unit::TwoLevelEverywhere>;
template class BasicCellHeap<unit::DoublingCells>;
template class BasicCellHeap<unit::DoublingEverywhere>;
template class BasicCellHeap<unit::ScanCells>;
template class BasicCellHeap<unit::ScanEverywhere>;
template class BasicCellHeap<unit::NarrowCells>;
template class BasicCellHeap<unit::NarrowEverywhere>;
template class BasicCellHeap<unit::TrailerlessCells>;
template class BasicCellHeap<unit::TrailerlessScan>;
template class BasicCellHeap<unit::KeptPages>;
template class BasicCellHeap<unit::ThresholdPages>;
template class BasicCellHeap<unit::ThresholdEverywhere>;
template class BasicCellHeap<unit::ThresholdScan>;
template class LockedCellHeap<>;
template class LockedCellHeap<CellHeap<GrowingCellPolicy>>;

using Visitor = void (*)(const CellView&);
template void BasicCellHeap<CellPolicy>::walk(Visitor) const;
template void LockedCellHeap<>::walk(Visitor);

template struct CellLayout<8>;
template struct CellLayout<16>;
template class CellRegionList<CellLayout<8>>;
template class CellRegionList<CellLayout<16>>;
template class CellLists<CellLayout<16>, 64>;
template struct TwoLevelBins<31>;
template class TwoLevelBins<31>::Index<CellLayout<8>>;
template class TwoLevelBins<>::Index<CellLayout<16>>;
template class PowerOfTwoBins::Index<CellLayout<8>>;
template class RovingScan::Index<CellLayout<8>>;
template struct CellHeapCheck<CellLayout<8>, TrailerOnFree, KeepPages>;
template struct CellHeapCheck<CellLayout<16>, TrailerAlways, RetentionThreshold>;
template struct CellHeapCheck<CellLayout<16>, TrailerNever, KeepPages>;
template struct SnugPages<>;

}  // namespace snug
