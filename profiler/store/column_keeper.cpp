#include "profiler/store/column_keeper.h"

#include <utility>

#include "profiler/store/compact_columns.h"

namespace pipescope::store {

ColumnKeeper::~ColumnKeeper() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void ColumnKeeper::keep(const BlockCache::Key& key, std::shared_ptr<const model::ColumnBlock> block) {
  Waiting one{key, std::move(block)};
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() < kMostWaiting) {
      waiting_.push_back(std::exchange(one, {}));
      if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
    }
  }
  if (one.block != nullptr) return store(one);
  wake_.notify_one();
}

void ColumnKeeper::store(const Waiting& one) {
  const auto compact = std::make_shared<const CompactColumns>(*one.block);
  static_cast<void>(cache_->insert(one.key, compact, compact->bytes()));
}

void ColumnKeeper::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [&] { return stop_ || !waiting_.empty(); });
    if (stop_) return;
    {
      const Waiting one = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      store(one);
    }
    lock.lock();
  }
}

}  // namespace pipescope::store
