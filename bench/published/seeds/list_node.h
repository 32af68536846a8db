// ListNode: the element of Pool(3C++)'s list, and the list itself: built of what a maker makes, and deleted again.
#pragma once

#include "workload.h"

#include <cstddef>
#include <cstdint>

namespace seeds {

struct ListNode {
  ListNode* next;
  uint64_t value;
};

template <class Maker>
void build_and_delete(Maker& maker, size_t nodes) {
  ListNode* head = nullptr;
  for (size_t j = 0; j < nodes; ++j) {
    ListNode* const node = maker.make();
    node->next = head;
    node->value = j;
    head = node;
  }
  for (size_t j = nodes; head != nullptr;) {
    if (head->value != --j) workload::fail("a node was damaged");
    ListNode* const next = head->next;
    maker.unmake(head);
    head = next;
  }
}

}  // namespace seeds
