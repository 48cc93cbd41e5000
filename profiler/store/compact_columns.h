#pragma once
// Decoded integer columns in as few bytes as their numbers need: what the cache keeps. Fresh memory costs
// more than decoding, so what is kept is small, and what is handed out comes from memory that was used
// before.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "profiler/model/source.h"
#include "profiler/store/block_cache.h"
#include "profiler/store/column_codec.h"

namespace pipescope::store {

class CompactColumns {
 public:
  explicit CompactColumns(const model::ColumnBlock& block);
  /// The columns as numbers, into memory that is used again.
  void expand(model::ColumnBlock& block) const;
  /// How much memory it takes.
  std::size_t bytes() const;

 private:
  struct Column {
    std::int64_t base = 0;   ///< the smallest number
    std::uint8_t width = 0;  ///< bytes of number − base: 0 (all are equal), 1, 2, 4 or 8
    std::size_t offset = 0;  ///< in bytes_
  };
  /// Much memory comes from the system by itself: a thread's heap that grows by a block each time stops all
  /// other threads that need fresh memory.
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

/// Column blocks that come back when nobody holds them any more. Thread-safe; outlived by its blocks.
class ColumnPool : public std::enable_shared_from_this<ColumnPool> {
 public:
  /// The pool that all readers of this process share.
  static const std::shared_ptr<ColumnPool>& ofProcess();
  std::shared_ptr<const model::ColumnBlock> expanded(const CompactColumns& columns);
  /// Takes the numbers of decoded columns over, and leaves them memory for the next ones.
  std::shared_ptr<const model::ColumnBlock> adopted(std::vector<ColumnData>& columns, std::size_t rows);
  /// Blocks that wait to be used again.
  std::size_t spare() const;

 private:
  std::unique_ptr<model::ColumnBlock> take();
  std::shared_ptr<const model::ColumnBlock> shared(std::unique_ptr<model::ColumnBlock> block);
  void giveBack(std::unique_ptr<model::ColumnBlock> block);
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<model::ColumnBlock>> spare_;
  std::size_t spareRows_ = 0;  // of spare_
};

/// The last few blocks that were asked for, for questions that come back to them at once. Thread-safe.
class RecentColumns {
 public:
  using Block = std::shared_ptr<const model::ColumnBlock>;
  static constexpr std::size_t kMost = 8;  // of fresh memory for more the first questions would pay
  /// Null: not one of them.
  Block find(const BlockCache::Key& key);
  void keep(const BlockCache::Key& key, Block block);

 private:
  struct Entry {
    BlockCache::Key key;
    Block block;
  };
  std::mutex mutex_;
  std::vector<Entry> entries_;  // the last one asked for at the end
};

/// Which blocks were asked for before: what is read once only, as by a question about a whole table, need not
/// be kept. Forgets all of them when there are many. Thread-safe.
class SeenBlocks {
 public:
  /// False the first time.
  bool again(const BlockCache::Key& key);

 private:
  std::mutex mutex_;
  std::set<BlockCache::Key> seen_;
};

}  // namespace pipescope::store
