#pragma once
#include <memory>
#include <mutex>

#include "profiler/model/source.h"
#include "profiler/store/blocks/block_cache.h"
#include "profiler/store/blocks/coder_threads.h"

namespace pipescope::store {

/// Puts columns in compact form into the cache, on one of `threads`. The new memory for them costs as much as
/// decoding them, and whoever asked for them need not wait for that. Columns that arrive too fast are not
/// kept; they get another chance when they are asked for again. Thread-safe.
class ColumnKeeper {
 public:
  ColumnKeeper(std::shared_ptr<BlockCache> cache, CoderThreads& threads);
  /// Columns that still wait are not kept.
  ~ColumnKeeper();
  ColumnKeeper(const ColumnKeeper&) = delete;
  ColumnKeeper& operator=(const ColumnKeeper&) = delete;

  /// Returns false if the columns will not be kept.
  bool keep(const BlockCache::Key& key, std::shared_ptr<const model::ColumnBlock> block);

 private:
  /// Objects that the tasks need. They may outlive the keeper.
  struct Shared {
    std::mutex mutex;                   // locked while a block is put into the cache
    std::shared_ptr<BlockCache> cache;  // null if the keeper is gone
  };
  const std::shared_ptr<Shared> shared_;
  CoderThreads& threads_;
};

}  // namespace pipescope::store
