#pragma once
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

#include "profiler/model/source.h"
#include "profiler/store/block_cache.h"

namespace pipescope::store {

/// Puts columns into the cache, made small, on a thread of its own, which starts with the first: the fresh memory that
/// they take costs as much as decoding them, and who asked for them need not wait for it. Thread-safe.
class ColumnKeeper {
 public:
  explicit ColumnKeeper(std::shared_ptr<BlockCache> cache) : cache_(std::move(cache)) {}
  /// What still waits is not kept.
  ~ColumnKeeper();
  ColumnKeeper(const ColumnKeeper&) = delete;
  ColumnKeeper& operator=(const ColumnKeeper&) = delete;

  /// While as many wait as may, the calling thread does it itself.
  void keep(const BlockCache::Key& key, std::shared_ptr<const model::ColumnBlock> block);

 private:
  struct Waiting {
    BlockCache::Key key;
    std::shared_ptr<const model::ColumnBlock> block;
  };
  static constexpr std::size_t kMostWaiting = 2;  // each holds memory that the next block to be decoded could have
  void store(const Waiting& one);
  void work();

  const std::shared_ptr<BlockCache> cache_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Waiting> waiting_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace pipescope::store
