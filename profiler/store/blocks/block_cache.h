#pragma once
#include <compare>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>

namespace pipescope::store {

/// A cache of decoded blocks, which are immutable and shared by all readers that use the cache. If the blocks
/// take more than `capacity` bytes, the least recently used ones are dropped. A dropped block lives on while
/// somebody holds it, but no longer counts. Thread-safe.
class BlockCache {
 public:
  struct Key {
    std::uint64_t reader = 0;
    std::size_t table = 0;
    std::int64_t block = 0;  ///< id of a block; for a plain table, how many rows were read
    bool columns = false;    ///< true for the integer columns of the block; false for its rows
    friend constexpr auto operator<=>(const Key&, const Key&) = default;
  };
  using Value = std::shared_ptr<const void>;

  static constexpr std::size_t kDefaultCapacity = std::size_t{256} << 20;

  explicit BlockCache(std::size_t capacity = kDefaultCapacity) : capacity_(capacity) {}

  /// The cache that all readers of this process share unless they are given another one.
  static const std::shared_ptr<BlockCache>& ofProcess();

  /// Returns null if the cache does not have it.
  Value find(const Key& key);
  /// Keeps the value, unless it alone exceeds the capacity. Returns the value to share: this one, or that of
  /// another thread that inserted it first.
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
