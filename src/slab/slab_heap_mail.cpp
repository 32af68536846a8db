// SlabHeap's mail: blocks that it sends to other heaps, and blocks that other threads have left in its slabs' remote
// frees.
#include "base/fatal.h"
#include "slab/block_check.h"
#include "slab/heap_registry.h"
#include "slab/put_back.h"
#include "slab/slab_heap.h"

namespace snug {

void SlabHeap::begin_hold() {
  visits_ = 0;
  mailbox_.begin_hold(opens());
}

void SlabHeap::end_hold() { mailbox_.end_hold(opens()); }

bool SlabHeap::try_visit() {
  if (!mailbox_.try_visit(opens())) return false;
  note_visit();
  return true;
}

void SlabHeap::begin_visit() {
  mailbox_.begin_visit(opens());
  note_visit();
}

void SlabHeap::begin_look() { mailbox_.begin_visit(opens()); }

void SlabHeap::end_visit() { mailbox_.end_visit(opens()); }

void SlabHeap::look_again() { mailbox_.look_again(opens()); }

void SlabHeap::open_all_mail() { mailbox_.open_all(opens()); }

void SlabHeap::note_visit() {
  if (is_asleep()) return;
  ++visits_;
  if (is_asleep()) release_empty(0);
}

void SlabHeap::open(SlabRemoteFrees& remote) {
  const PageMap& page_map = registry_.page_map();
  const PageEntry entry = page_map.entry_at(remote.start());
  if (entry.owner() != id_) return deliver(remote, *registry_.heap(entry.owner()));  // adopted
  Slab& slab = Slab::of(remote);
  const SizeClass& sizes = registry_.table().classes[slab.size_class];
  size_t count = 0;
  remote.take([&](size_t word, uint64_t mask) { count += put_back_word(slab, word, mask); });
  count_home(slab.size_class, count);
  blocks_mailed_.subtract(count);
  bytes_mailed_.subtract(count * sizes.block_size);
  if (slab.full || slab.used() == 0) relist(slab);
  registry_.note_change(*this);
}

// Puts the slab into the mailbox of `owner`. The slab may have been adopted since it was looked up, and `owner` may
// have no thread any more: then only this thread would look. A lock's holder there looks afterwards; the one thread of
// a process may be in a hold without the lock, into which no visit may come.
void SlabHeap::deliver(SlabRemoteFrees& remote, SlabHeap& owner) {
  owner.mailbox_.post(&remote);
  if (!Hold::is_in_without_lock(owner)) owner.look_again();
}

void SlabHeap::send(size_t size_class, void* const* blocks, size_t count, uint16_t owner) {
  batches_sent_.add(1);
  SlabHeap& target = *registry_.heap(owner);
  if (target.mailbox_.wants_senders() && target.try_visit()) {
    target.flush(size_class, blocks, count);
    return target.end_visit();
  }
  post(size_class, blocks, count);
}

// Leaves the blocks in their slabs' remote frees.
void SlabHeap::post(size_t size_class, void* const* blocks, size_t count) {
  const SizeClass& sizes = registry_.table().classes[size_class];
  blocks_mailed_.add(count);
  bytes_mailed_.add(count * sizes.block_size);
  for (size_t done = 0; done != count;) {
    const PageEntry entry = entry_of_block(registry_.page_map(), size_class, blocks[done]);
    Slab& slab = *entry.record<Slab>();
    SlabRemoteFrees& remote = slab.remote(sizes);
    const WordOfBlocks some = gather_word(slab, remote, sizes, blocks + done, count - done);
    switch (remote.add(some.word, some.mask)) {
      case SlabRemoteFrees::Added::kTwice:
        die_of_misuse("free", blocks[done], kAlreadyFree);
      case SlabRemoteFrees::Added::kFirst:
        deliver(remote, *registry_.heap(entry.owner()));
        break;
      case SlabRemoteFrees::Added::kMore:
        break;
    }
    done += some.count;
  }
}

}  // namespace snug
