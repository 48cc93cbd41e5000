#pragma once
#include <compare>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>

namespace pipescope::store {

/// Decoded blocks, immutable and shared, of all readers that use it; the least recently used go first once
/// they take more than `capacity` bytes. What somebody still holds lives on, but is no longer counted.
/// Thread-safe.
class BlockCache {
 public:
  struct Key {
    std::uint64_t reader = 0;
    std::size_t table = 0;
    std::int64_t block = 0;  ///< id of a block; of a plain table how many rows were read
    bool columns = false;    ///< its integer columns instead of its rows
    friend constexpr auto operator<=>(const Key&, const Key&) = default;
  };
  using Value = std::shared_ptr<const void>;

  static constexpr std::size_t kDefaultCapacity = std::size_t{256} << 20;

  explicit BlockCache(std::size_t capacity = kDefaultCapacity) : capacity_(capacity) {}

  /// The cache that all readers of this process share unless they are given another.
  static const std::shared_ptr<BlockCache>& ofProcess();

  /// Null: not there.
  Value find(const Key& key);
  /// Keeps the value, unless it alone is larger than the capacity. Returns what is now shared: the value of
  /// another thread that was faster, or this one.
  Value insert(const Key& key, Value value, std::size_t bytes);
  /// Drops all blocks of a reader.
  void forget(std::uint64_t reader);

  std::size_t bytes() const;
  std::size_t size() const;

 private:
  struct Entry {
    Key key;
    Value value;
    std::size_t bytes;
  };
  void dropLast();

  const std::size_t capacity_;
  mutable std::mutex mutex_;
  std::list<Entry> entries_;  // most recently used first
  std::map<Key, std::list<Entry>::iterator> places_;
  std::size_t bytes_ = 0;
};

}  // namespace pipescope::store
