// An intrusive doubly linked list: the element holds its own ListLink, so that membership costs no memory and removal
// is O(1). A null-terminated chain with both ends known; the caller holds whatever lock guards it.
#pragma once

namespace snug {

template <class T>
struct ListLink {
  T* next = nullptr;
  T* prev = nullptr;
};

template <class T, ListLink<T> T::* Link>
class List {
 public:
  T* front() const { return front_; }
  bool empty() const { return front_ == nullptr; }
  T* back() const { return back_; }
  static T* prev(const T* element) { return (element->*Link).prev; }
  static T* next(const T* element) { return (element->*Link).next; }

  void push_front(T* element) {
    (element->*Link).prev = nullptr;
    (element->*Link).next = front_;
    if (front_ != nullptr)
      (front_->*Link).prev = element;
    else
      back_ = element;
    front_ = element;
  }

  void push_back(T* element) {
    (element->*Link).next = nullptr;
    (element->*Link).prev = back_;
    if (back_ != nullptr)
      (back_->*Link).next = element;
    else
      front_ = element;
    back_ = element;
  }

  void remove(T* element) {
    ListLink<T>& link = element->*Link;
    if (link.prev != nullptr)
      (link.prev->*Link).next = link.next;
    else
      front_ = link.next;
    if (link.next != nullptr)
      (link.next->*Link).prev = link.prev;
    else
      back_ = link.prev;
    link = {};
  }

  // True if each element's `prev` is the one before it. `is_element(element)` is asked before an element is read, so
  // that the walk stops at a list which was written over. The walk ends in any case, as each element has one `prev`.
  template <class IsElement>
  bool is_linked(IsElement is_element) const {
    const T* before = nullptr;
    for (const T* element = front_; element != nullptr; before = element, element = next(element))
      if (!is_element(element) || prev(element) != before) return false;
    return back_ == before;
  }

  T* pop_front() {
    T* element = front_;
    if (element != nullptr) remove(element);
    return element;
  }

 private:
  T* front_ = nullptr;
  T* back_ = nullptr;
};

}  // namespace snug
