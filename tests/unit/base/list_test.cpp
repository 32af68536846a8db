// The intrusive list: both ends, removal anywhere, and its agreement with a std::vector.
#include "base/list.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

namespace snug {
namespace {

struct Element {
  int name = 0;
  ListLink<Element> link;
};
using Elements = List<Element, &Element::link>;

// Forwards by next, and backwards by prev.
void expect_order(const Elements& list, const std::vector<Element*>& expected) {
  std::vector<Element*> seen;
  Element* last = nullptr;
  for (Element* e = list.front(); e != nullptr; e = Elements::next(e)) {
    EXPECT_EQ(e->link.prev, last);
    last = e;
    seen.push_back(e);
    ASSERT_LE(seen.size(), expected.size());
  }
  EXPECT_EQ(seen, expected);
  EXPECT_EQ(list.empty(), expected.empty());
}

TEST(List, EmptyHasNoFront) {
  Elements list;
  EXPECT_TRUE(list.empty());
  EXPECT_EQ(list.front(), nullptr);
  EXPECT_EQ(list.pop_front(), nullptr);
}

TEST(List, PushesAtBothEnds) {
  Elements list;
  Element a, b, c, d;
  list.push_back(&b);
  list.push_front(&a);
  list.push_back(&c);
  expect_order(list, {&a, &b, &c});
  EXPECT_EQ(list.pop_front(), &a);
  list.push_back(&d);
  expect_order(list, {&b, &c, &d});
}

TEST(List, RemovesAtBothEndsAndInTheMiddle) {
  for (size_t gone = 0; gone < 3; ++gone) {
    Elements list;
    Element elements[4];
    std::vector<Element*> expected;
    for (size_t i = 0; i < 3; ++i) {
      list.push_back(&elements[i]);
      if (i != gone) expected.push_back(&elements[i]);
    }
    list.remove(&elements[gone]);
    EXPECT_EQ(elements[gone].link.next, nullptr);
    EXPECT_EQ(elements[gone].link.prev, nullptr);
    list.push_back(&elements[3]);  // the back is still known
    expected.push_back(&elements[3]);
    expect_order(list, expected);
  }
}

TEST(List, AgreesWithAVector) {
  std::mt19937 random(1);
  Elements list;
  std::vector<Element> elements(20);
  std::vector<Element*> model;
  for (int step = 0; step < 5000; ++step) {
    Element* e = &elements[random() % elements.size()];
    const auto place = std::find(model.begin(), model.end(), e);
    if (place != model.end()) {
      list.remove(e);
      model.erase(place);
    } else if (random() % 2 == 0) {
      list.push_front(e);
      model.insert(model.begin(), e);
    } else {
      list.push_back(e);
      model.push_back(e);
    }
    expect_order(list, model);
  }
}

TEST(List, IsLinkedSeesWhatWasWrittenOver) {
  std::vector<Element> elements(4);
  Elements list;
  for (Element& element : elements) list.push_back(&element);
  const auto is_one = [&](const Element* element) {
    return element >= elements.data() && element < elements.data() + elements.size();
  };
  EXPECT_TRUE(list.is_linked(is_one));
  EXPECT_TRUE(Elements().is_linked(is_one));
  EXPECT_FALSE(list.is_linked([&](const Element* element) { return element != &elements[2]; }));
  const auto is_linked_with = [&](Element*& link, Element* other) {
    Element* const right = std::exchange(link, other);
    const bool is_linked = list.is_linked(is_one);
    link = right;
    return is_linked;
  };
  Element stranger;
  EXPECT_FALSE(is_linked_with(elements[1].link.next, &stranger));
  EXPECT_FALSE(is_linked_with(elements[1].link.next, &elements[3])) << "one is passed over";
  EXPECT_FALSE(is_linked_with(elements[3].link.next, &elements[0])) << "a circle";
  EXPECT_FALSE(is_linked_with(elements[3].link.next, &elements[3])) << "a small one";
  EXPECT_FALSE(is_linked_with(elements[2].link.next, nullptr)) << "the end is another";
  EXPECT_FALSE(is_linked_with(elements[2].link.prev, nullptr));
  EXPECT_TRUE(list.is_linked(is_one));
}

}  // namespace
}  // namespace snug
