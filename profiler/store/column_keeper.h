#pragma once
#include <memory>
#include <mutex>

#include "profiler/model/source.h"
#include "profiler/store/block_cache.h"
#include "profiler/store/coder_threads.h"

namespace pipescope::store {

/// Puts columns into the cache, made small, by one of `threads`: the fresh memory that they take costs as
/// much as decoding them, and who asked for them need not wait for it. Columns that come faster than they can
/// be kept are not; who asks for them again gives another chance. Thread-safe.
class ColumnKeeper {
 public:
  ColumnKeeper(std::shared_ptr<BlockCache> cache, CoderThreads& threads);
  /// What still waits is not kept.
  ~ColumnKeeper();
  ColumnKeeper(const ColumnKeeper&) = delete;
  ColumnKeeper& operator=(const ColumnKeeper&) = delete;

  /// False: not kept.
  bool keep(const BlockCache::Key& key, std::shared_ptr<const model::ColumnBlock> block);

 private:
  /// What tasks need, which may outlive the keeper.
  struct Shared {
    std::mutex mutex;                   // held while a block is kept
    std::shared_ptr<BlockCache> cache;  // null: the keeper is gone
  };
  const std::shared_ptr<Shared> shared_;
  CoderThreads& threads_;
};

}  // namespace pipescope::store
