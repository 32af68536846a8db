#include "store.h"

#include <algorithm>

namespace cache_server {
namespace {

Moment earlier(Moment known, Moment other) { return known == kNever ? other : std::min(known, other); }

}  // namespace

const Value* Store::get(std::string_view key, Moment now) {
  const Value* const value = values_.find(key);
  if (value == nullptr || !is_gone(*value, now)) return value;
  forget_moment(*value);
  values_.erase(key);
  return nullptr;
}

void Store::set(std::string_view key, std::string_view text, Moment gone_at) {
  const Value* const old = values_.find(key);
  const bool had_moment = old != nullptr && old->gone_at != kNever;
  values_.insert_or_assign(key, text, gone_at);
  expiring_ -= had_moment;
  if (gone_at == kNever) return;
  earliest_ = expiring_ == 0 ? gone_at : std::min(earliest_, gone_at);
  later_ = earlier(later_, gone_at);
  ++expiring_;
}

bool Store::erase(std::string_view key, Moment now) {
  const Value* const value = get(key, now);
  if (value == nullptr) return false;
  forget_moment(*value);
  return values_.erase(key);
}

void Store::clear() noexcept {
  values_.clear();
  expiring_ = 0;
  swept_ = 0;
}

void Store::sweep(Moment now) {
  if (expiring_ == 0 || earliest_ > now) return;
  if (swept_ == 0) later_ = kNever;
  const auto should_go = [&](const snug::CompactString&, const Value& value) {
    if (is_gone(value, now)) return true;
    if (value.gone_at != kNever) later_ = earlier(later_, value.gone_at);
    return false;
  };
  expiring_ -= values_.erase_if(should_go, swept_, kSweptAtOnce);
  swept_ += kSweptAtOnce;
  if (swept_ < values_.bucket_count()) return;
  swept_ = 0;
  earliest_ = later_;
}

const char* Store::check() const {
  if (const char* const broken = heap_.check()) return broken;
  if (const char* const broken = values_.check()) return broken;
  std::size_t expiring = 0;
  bool is_late = false;
  values_.for_each([&](const snug::CompactString&, const Value& value) {
    if (value.gone_at == kNever) return;
    ++expiring;
    is_late = is_late || value.gone_at < earliest_;
  });
  if (expiring != expiring_) return "store: the count of values that expire is wrong";
  return is_late ? "store: a value expires before the earliest" : nullptr;
}

}  // namespace cache_server
