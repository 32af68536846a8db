// CompactMap: a hash map in a CompactHeap: its buckets are one block, each entry is another.
//
//   size_ == entries in all chains;  each entry is in the chain of its hash;  size_ <= buckets, but while empty
//
// As for CompactVector: "Moves", the heap's life, that a map may lie in a block itself, and what constructors may do.
// Hash and comparison run inside a section too, and are made anew for each call. A map cannot be copied. Keys and
// values may be of any type that a heap can make (snug/compact/relocation.h). A lookup key may be of another type that
// compares equal and hashes alike: std::string_view for a map of CompactString. A type that needs the heap is made of
// the heap and the arguments, so that the characters of a key are copied only if the key is new:
//
//   snug::CompactMap<snug::CompactString, snug::CompactString> names(heap);
//   names.insert_or_assign("Ada", "Lovelace");
#pragma once

#include "snug/base/cpp20.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <typeindex>
#include <utility>

#include "snug/compact/building.h"
#include "snug/compact/compact_string.h"
#include "snug/compact/compact_vector.h"

namespace snug {

// std::hash, and one for all that is text.
template <class K>
struct CompactHash {
  std::size_t operator()(const K& key) const { return std::hash<K>()(key); }
};
template <>
struct CompactHash<CompactString> {
  std::size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>()(text); }
  std::size_t operator()(const CompactString& text) const noexcept { return (*this)(text.view()); }
};
struct CompactEqual {
  template <class A, class B>
  bool operator()(const A& a, const B& b) const {
    return a == b;
  }
};

template <class K, class V>
struct CompactEntry {
  template <class Key, class... Arguments>
  CompactEntry(std::size_t hash_of_key, Key&& from, Arguments&&... arguments)
      : hash(hash_of_key), key(std::forward<Key>(from)), value(std::forward<Arguments>(arguments)...) {}
  template <class Key, class... Arguments>
  CompactEntry(CompactHeap& heap_of_key, std::size_t hash_of_key, Key&& from, Arguments&&... arguments)
      : hash(hash_of_key), key(heap_of_key, std::forward<Key>(from)), value(std::forward<Arguments>(arguments)...) {}
  // Key and value each in its own way.
  friend void relocate(CompactEntry* from, CompactEntry* to) noexcept
    requires(!(kMovedAsBytes<K> && kMovedAsBytes<V>))
  {
    to->next = from->next;
    to->hash = from->hash;
    relocate_at<K>(&from->key, &to->key);
    relocate_at<V>(&from->value, &to->value);
  }

  Handle<CompactEntry> next;
  std::size_t hash;
  K key;
  V value;
};

template <class K, class V>
inline constexpr bool kTriviallyRelocatable<CompactEntry<K, V>> = kMovedAsBytes<K> && kMovedAsBytes<V>;

template <class K, class V, class Hash = CompactHash<K>, class Equal = CompactEqual>
class CompactMap {
  using Entry = CompactEntry<K, V>;

 public:
  // Takes no memory.
  explicit CompactMap(CompactHeap& heap) noexcept : buckets_(heap) {}
  CompactMap(CompactMap&& other) noexcept : CompactMap(other.heap()) { swap(other); }
  // Moves.
  CompactMap& operator=(CompactMap&& other) noexcept {
    CompactMap taken(std::move(other));
    swap(taken);
    return *this;
  }
  ~CompactMap() { end_entries(buckets_); }

  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  CompactHeap& heap() const noexcept { return buckets_.heap(); }

  // The value, until the next call that moves; null if there is no such key. O(1) on average.
  template <class Key>
  V* find(const Key& key) {
    const Handle<Entry> found = locate(as_asked(key));
    return found ? &heap().get(found)->value : nullptr;
  }
  template <class Key>
  const V* find(const Key& key) const {
    return const_cast<CompactMap*>(this)->find(key);
  }
  template <class Key>
  bool contains(const Key& key) const {
    return find(key) != nullptr;
  }

  // Makes an entry unless the key is there; the value, until the next call that moves, and whether it is new. Throws
  // std::bad_alloc if there is no memory, and what the constructors, the hash and the comparison throw; then nothing
  // has changed but what the arguments hold. Moves. O(1) on average, but O(size) where the buckets double.
  template <class Key, class... Arguments>
  std::pair<V*, bool> try_emplace(Key&& key, Arguments&&... arguments) {
    CompactHeap& heap = this->heap();
    auto&& asked = as_asked(std::forward<Key>(key));
    const std::size_t hash = Hash()(asked);
    if (const Handle<Entry> found = locate(asked, hash)) return {&heap.get(found)->value, false};
    const Handle<Entry> made = add(hash, std::forward<decltype(asked)>(asked), std::forward<Arguments>(arguments)...);
    return {&heap.get(made)->value, true};
  }
  // Makes an entry, or replaces the value if the key is there. True if the key is new. As try_emplace().
  template <class Key, class... Arguments>
  bool insert_or_assign(Key&& key, Arguments&&... arguments) {
    auto&& asked = as_asked(std::forward<Key>(key));
    const std::size_t hash = Hash()(asked);
    if (const Handle<Entry> found = locate(asked, hash)) {
      Building building(heap(), size_);
      Replacement<V> made = replacement_of(std::forward<Arguments>(arguments)...);
      building.end();
      made.put_at(&heap().get(found)->value);
      return false;
    }
    add(hash, std::forward<decltype(asked)>(asked), std::forward<Arguments>(arguments)...);
    return true;
  }
  // A value-initialised one if the key is new.
  template <class Key>
  V& operator[](Key&& key) {
    return *try_emplace(std::forward<Key>(key)).first;
  }
  // False if there is no such key. Moves. O(1) on average.
  template <class Key>
  bool erase(const Key& key);
  // Erases the entries for which should_go(const K&, V&) is true; returns how many. should_go runs as a visitor of
  // for_each(). Moves. O(size).
  template <class ShouldGo>
  std::size_t erase_if(ShouldGo should_go) {
    return erase_if(std::move(should_go), 0, bucket_count());
  }
  // The same in `count` buckets from `first` on, or in as many as there are, to go through a large map a part at a
  // time. If the buckets double meanwhile, entries not visited yet lie in later buckets. Moves. O(buckets).
  template <class ShouldGo>
  std::size_t erase_if(ShouldGo should_go, std::size_t first, std::size_t count);
  // About one for each entry.
  std::size_t bucket_count() const noexcept { return buckets_.size(); }
  // Room for so many entries. Throws std::bad_alloc if there is no memory; then nothing has changed. Moves. O(size).
  void reserve(std::size_t size) {
    if (size <= buckets_.size()) return;
    if (size > kMostBuckets) throw_out_of_memory();
    Buckets spare(heap());
    rehash(buckets_for(size), spare);
  }
  // Shrinks to the fewest buckets for its entries. As reserve().
  void shrink_to_fit() {
    if (size_ == 0) return clear();
    Buckets spare(heap());
    if (const std::size_t fewest = buckets_for(size_); fewest < buckets_.size()) rehash(fewest, spare);
  }
  // Moves. O(size).
  void clear() noexcept {
    CompactMap taken(heap());
    swap(taken);
  }

  // visit(const K&, V&) for each entry, inside a section. It may change values; it must not add or erase entries.
  template <class Visit>
  void for_each(Visit&& visit) {
    const Section section(heap());
    for (Handle<Entry> entry : buckets_.in(section))
      for (; entry; entry = section[entry].next) visit(std::as_const(section[entry].key), section[entry].value);
  }
  template <class Visit>
  void for_each(Visit&& visit) const {
    const Section section(heap());
    for (Handle<Entry> entry : buckets_.in(section))
      for (; entry; entry = section[entry].next)
        visit(std::as_const(section[entry].key), std::as_const(section[entry].value));
  }

  // Goes through the map a part at a time while it changes: visits, as for_each() does, the entries of `count` buckets
  // (at least 1) from the cursor on, and returns the cursor to go on with. 0 is the beginning, and the end. An entry
  // that is there from the first call to the last is visited, whatever else comes and goes between them; more than once
  // only if the buckets have become fewer meanwhile. O(buckets).
  template <class Visit>
  std::uint64_t scan(std::uint64_t cursor, std::size_t count, Visit&& visit) {
    if (buckets_.empty()) return 0;
    const Section section(heap());
    const auto buckets = buckets_.in(section);
    // Entries lie in the order of the products of their hashes, however many buckets there are: the cursor is a
    // product.
    const unsigned shift = shift_for(buckets.size());
    std::size_t index = cursor >> shift;
    for (; count != 0 && index != buckets.size(); --count, ++index)
      for (Handle<Entry> entry = buckets[index]; entry; entry = section[entry].next)
        visit(std::as_const(section[entry].key), section[entry].value);
    return index == buckets.size() ? 0 : std::uint64_t{index} << shift;
  }

  void swap(CompactMap& other) noexcept {
    buckets_.swap(other.buckets_);
    std::swap(size_, other.size_);
  }

  // Null if the map is sound, else a sentence that names the broken invariant. O(size).
  const char* check() const;

 private:
  using Buckets = CompactVector<Handle<Entry>>;

  // Entries taken out of the map, destroyed at the end of the function. Each may free blocks.
  struct Chain {
    explicit Chain(CompactHeap& owner) noexcept : heap(owner) {}
    Chain(const Chain&) = delete;
    Chain& operator=(const Chain&) = delete;
    ~Chain() {
      while (first) {
        const Handle<Entry> entry = first;
        first = heap[entry].next;
        heap.destroy(entry);
      }
    }
    CompactHeap& heap;
    Handle<Entry> first;
  };

  static constexpr std::size_t kFewestBuckets = 8;
  static constexpr std::size_t kMostBuckets = std::size_t{1} << 48;

  static std::size_t buckets_for(std::size_t entries) noexcept {
    return std::bit_ceil(entries < kFewestBuckets ? kFewestBuckets : entries);
  }

  // Hashes may be consecutive numbers, or multiples of one: the upper bits of a product spread them.
  static std::size_t bucket_of(std::size_t hash, std::size_t buckets) noexcept {
    return static_cast<std::size_t>(hash * 0x9e3779b97f4a7c15u >> shift_for(buckets));
  }
  static unsigned shift_for(std::size_t buckets) noexcept {
    return 64u - static_cast<unsigned>(std::countr_zero(buckets));
  }

  // Converts a number to the key's type, as the standard's maps do.
  template <class Key>
  static decltype(auto) as_asked(Key&& key) noexcept {
    if constexpr (std::is_integral_v<K> && std::is_integral_v<std::remove_cvref_t<Key>>)
      return static_cast<K>(key);
    else
      return std::forward<Key>(key);
  }

  template <class Key>
  Handle<Entry> locate(const Key& key) const {
    return locate(key, Hash()(key));
  }
  template <class Key>
  Handle<Entry> locate(const Key& key, std::size_t hash) const {
    if (buckets_.empty()) return {};
    const Section section(heap());
    Handle<Entry> entry = buckets_.in(section)[bucket_of(hash, buckets_.size())];
    while (entry && !(section[entry].hash == hash && Equal()(section[entry].key, key))) entry = section[entry].next;
    return entry;
  }
  // Decides first for the value, then for the key: the heap is passed before the arguments if no constructor takes
  // these alone.
  template <class Key, class... Arguments>
  Handle<Entry> make_entry(std::size_t hash, Key&& key, Arguments&&... arguments) {
    if constexpr (std::is_constructible_v<V, Arguments...>)
      return make_keyed(hash, std::forward<Key>(key), std::forward<Arguments>(arguments)...);
    else
      return make_keyed(hash, std::forward<Key>(key), heap(), std::forward<Arguments>(arguments)...);
  }
  template <class Key, class... OfValue>
  Handle<Entry> make_keyed(std::size_t hash, Key&& key, OfValue&&... of_value) {
    if constexpr (std::is_constructible_v<K, Key>)
      return heap().template make<Entry>(hash, std::forward<Key>(key), std::forward<OfValue>(of_value)...);
    else
      return heap().template make<Entry>(heap(), hash, std::forward<Key>(key), std::forward<OfValue>(of_value)...);
  }
  template <class... Arguments>
  Replacement<V> replacement_of(Arguments&&... arguments) {
    if constexpr (std::is_constructible_v<V, Arguments...>)
      return Replacement<V>(std::forward<Arguments>(arguments)...);
    else
      return Replacement<V>(heap(), std::forward<Arguments>(arguments)...);
  }
  template <class... Arguments>
  Handle<Entry> add(std::size_t hash, Arguments&&... arguments) {
    Buckets spare(heap());  // freed last
    if (size_ == buckets_.size()) spare.resize(buckets_for(size_ + 1));
    Building building(heap(), size_);
    const Handle<Entry> made = make_entry(hash, std::forward<Arguments>(arguments)...);
    building.end();
    const Section section(heap());
    if (!spare.empty()) exchange(section, spare);
    link(section, buckets_, made);
    ++size_;
    return made;
  }
  // `spare` is empty, and has the old buckets afterwards.
  void rehash(std::size_t buckets, Buckets& spare) {
    spare.resize(buckets);
    exchange(Section(heap()), spare);
  }
  void exchange(const Section& section, Buckets& spare) noexcept {
    for (Handle<Entry> entry : buckets_.in(section))
      while (entry) {
        const Handle<Entry> next = section[entry].next;
        link(section, spare, entry);
        entry = next;
      }
    buckets_.swap(spare);
  }
  static void link(const Section& section, Buckets& buckets, Handle<Entry> entry) noexcept {
    Handle<Entry>& first = buckets.in(section)[bucket_of(section[entry].hash, buckets.size())];
    section[entry].next = first;
    first = entry;
  }
  // Each entry may free blocks, which may move the buckets.
  static void end_entries(Buckets& of) noexcept {
    Buckets buckets(std::move(of));
    for (std::size_t i = 0; i != buckets.size(); ++i) {
      Chain gone(buckets.heap());
      gone.first = buckets[i];
    }
  }

  Buckets buckets_;  // none, or a power of two
  std::size_t size_ = 0;
};

template <class K, class V, class Hash, class Equal>
inline constexpr bool kTriviallyRelocatable<CompactMap<K, V, Hash, Equal>> = true;

template <class K, class V, class Hash, class Equal>
template <class Key>
bool CompactMap<K, V, Hash, Equal>::erase(const Key& key) {
  const Handle<Entry> gone = locate(as_asked(key));
  if (!gone) return false;
  CompactHeap& heap = this->heap();
  {
    const Section section(heap);
    Handle<Entry>* link = &buckets_.in(section)[bucket_of(section[gone].hash, buckets_.size())];
    while (*link != gone) link = &section[*link].next;
    *link = section[gone].next;
    --size_;
  }
  heap.destroy(gone);
  return true;
}

template <class K, class V, class Hash, class Equal>
template <class ShouldGo>
std::size_t CompactMap<K, V, Hash, Equal>::erase_if(ShouldGo should_go, std::size_t first, std::size_t count) {
  Chain gone(heap());
  const std::size_t had = size_;
  const Section section(heap());
  const auto buckets = buckets_.in(section);
  if (first >= buckets.size()) return 0;
  const std::size_t left = buckets.size() - first;
  for (Handle<Entry>& bucket : buckets.subspan(first, count < left ? count : left))
    for (Handle<Entry>* link = &bucket; *link;) {
      const Handle<Entry> entry = *link;
      if (should_go(std::as_const(section[entry].key), section[entry].value)) {
        *link = section[entry].next;
        section[entry].next = gone.first;
        gone.first = entry;
        --size_;
      } else {
        link = &section[entry].next;
      }
    }
  return had - size_;
}

template <class K, class V, class Hash, class Equal>
const char* CompactMap<K, V, Hash, Equal>::check() const {
  const Section section(heap());
  std::size_t entries = 0;
  const auto buckets = buckets_.in(section);
  for (std::size_t i = 0; i != buckets.size(); ++i)
    for (Handle<Entry> entry = buckets[i]; entry; entry = heap()[entry].next) {
      ++entries;
      if (bucket_of(heap()[entry].hash, buckets.size()) != i || Hash()(heap()[entry].key) != heap()[entry].hash)
        return "CompactMap: an entry stands in another's chain";
    }
  if (entries != size_) return "CompactMap: the count of entries is wrong";
  return entries <= buckets.size() ? nullptr : "CompactMap: there are more entries than buckets";
}

}  // namespace snug
