// address_order.h: sorts a chain of nodes, linked through `next`, by their addresses. In place, no recursion, no memory
// but a fixed array: a merge sort; its bin i holds a sorted chain of 2^i nodes. O(n log n). Free slots of a pool may
// be poisoned (pool/slot.h).
#pragma once

#include <cstddef>
#include <cstdint>

namespace snug {

template <class Node>
[[gnu::no_sanitize_address]] Node* merge_by_address(Node* a, Node* b) {
  Node* head = nullptr;
  Node** tail = &head;
  while (a != nullptr && b != nullptr) {
    Node*& lower = reinterpret_cast<std::uintptr_t>(a) < reinterpret_cast<std::uintptr_t>(b) ? a : b;
    *tail = lower;
    tail = &lower->next;
    lower = lower->next;
  }
  *tail = a != nullptr ? a : b;
  return head;
}

template <class Node>
[[gnu::no_sanitize_address]] Node* sort_by_address(Node* chain) {
  constexpr std::size_t kBins = 48;  // more nodes than an address space holds
  Node* bins[kBins] = {};
  while (chain != nullptr) {
    Node* carried = chain;
    chain = chain->next;
    carried->next = nullptr;
    std::size_t bin = 0;
    for (; bins[bin] != nullptr; ++bin) {
      carried = merge_by_address(bins[bin], carried);
      bins[bin] = nullptr;
    }
    bins[bin] = carried;
  }
  Node* sorted = nullptr;
  for (Node* bin : bins) sorted = merge_by_address(bin, sorted);
  return sorted;
}

}  // namespace snug
