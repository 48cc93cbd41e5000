#pragma once
// Keeps decoded integer columns in as few bytes as their numbers need, for the cache. New memory costs more
// than decoding, so the cached form is small, and columns are handed out in memory that was used before.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "profiler/model/source.h"
#include "profiler/store/blocks/block_cache.h"
#include "profiler/store/blocks/column_codec.h"

namespace pipescope::store {

class CompactColumns {
 public:
  explicit CompactColumns(const model::ColumnBlock& block);
  /// Writes the columns as numbers into `block`, whose memory is used again.
  void expand(model::ColumnBlock& block) const;
  /// Bytes of memory that it takes.
  std::size_t bytes() const;

 private:
  struct Column {
    std::int64_t base = 0;   ///< the smallest number
    std::uint8_t width = 0;  ///< bytes of number − base: 0 (all are equal), 1, 2, 4 or 8
    std::size_t offset = 0;  ///< offset in the memory of all columns
  };
  /// Memory that comes directly from the system. If it came from the heap of a thread and that heap grew by a
  /// block each time, all other threads that need new memory would have to wait.
  class Pages {
   public:
    explicit Pages(std::size_t size);
    ~Pages();
    Pages(const Pages&) = delete;
    Pages& operator=(const Pages&) = delete;
    std::byte* data() const { return data_; }

   private:
    std::byte* data_ = nullptr;
    std::size_t size_ = 0;
  };
  std::size_t rows_ = 0;
  std::vector<Column> columns_;
  std::size_t size_ = 0;
  std::optional<Pages> pages_;
};

/// Column blocks that return to the pool when nobody holds them any more. Thread-safe. Blocks may outlive the
/// pool.
class ColumnPool : public std::enable_shared_from_this<ColumnPool> {
 public:
  /// The pool that all readers of this process share.
  static const std::shared_ptr<ColumnPool>& ofProcess();
  std::shared_ptr<const model::ColumnBlock> expanded(const CompactColumns& columns);
  /// Takes the numbers of decoded columns, and leaves memory for the next ones in their place.
  std::shared_ptr<const model::ColumnBlock> adopted(std::vector<ColumnData>& columns, std::size_t rows);
  /// Number of blocks that wait to be used again.
  std::size_t spare() const;

 private:
  std::unique_ptr<model::ColumnBlock> take();
  std::shared_ptr<const model::ColumnBlock> shared(std::unique_ptr<model::ColumnBlock> block);
  void giveBack(std::unique_ptr<model::ColumnBlock> block);
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<model::ColumnBlock>> spare_;
  std::size_t spareRows_ = 0;  // rows of spare_
};

/// The last few blocks that were asked for, because questions often ask for the same block again at once.
/// Thread-safe.
class RecentColumns {
 public:
  using Block = std::shared_ptr<const model::ColumnBlock>;
  static constexpr std::size_t kMost = 8;  // more would make the first questions pay for new memory
  /// Returns null if the block is not one of them.
  Block find(const BlockCache::Key& key);
  void keep(const BlockCache::Key& key, Block block);

 private:
  struct Entry {
    BlockCache::Key key;
    Block block;
  };
  std::mutex mutex_;
  std::vector<Entry> entries_;  // The last one that was asked for is at the end.
};

/// Remembers which blocks were asked for. A block that is read only once, for example by a question about a
/// whole table, need not be cached. If there are many, it forgets all of them. Thread-safe.
class SeenBlocks {
 public:
  /// Returns false the first time.
  bool again(const BlockCache::Key& key);

 private:
  std::mutex mutex_;
  std::set<BlockCache::Key> seen_;
};

}  // namespace pipescope::store
