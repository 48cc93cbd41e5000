#include "profiler/store/blocks/block_cache.h"

#include <utility>

namespace pipescope::store {

const std::shared_ptr<BlockCache>& BlockCache::ofProcess() {
  static const auto cache = std::make_shared<BlockCache>();
  return cache;
}

BlockCache::Value BlockCache::find(const Key& key) {
  const std::lock_guard lock(mutex_);
  const auto place = places_.find(key);
  if (place == places_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, place->second);
  return place->second->value;
}

BlockCache::Value BlockCache::insert(const Key& key, Value value, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (const auto place = places_.find(key); place != places_.end()) return place->second->value;
  if (bytes > capacity_) return value;
  while (bytes_ + bytes > capacity_) dropLast();
  entries_.push_front({key, std::move(value), bytes});
  places_[key] = entries_.begin();
  bytes_ += bytes;
  return entries_.front().value;
}

void BlockCache::forget(std::uint64_t reader) {
  const std::lock_guard lock(mutex_);
  for (auto place = places_.lower_bound({reader, 0, 0});
       place != places_.end() && place->first.reader == reader;) {
    bytes_ -= place->second->bytes;
    entries_.erase(place->second);
    place = places_.erase(place);
  }
}

std::size_t BlockCache::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

std::size_t BlockCache::size() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

void BlockCache::dropLast() {
  bytes_ -= entries_.back().bytes;
  places_.erase(entries_.back().key);
  entries_.pop_back();
}

}  // namespace pipescope::store
