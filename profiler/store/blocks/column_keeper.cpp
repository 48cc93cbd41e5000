#include "profiler/store/blocks/column_keeper.h"

#include <utility>

#include "profiler/store/blocks/compact_columns.h"

namespace pipescope::store {

ColumnKeeper::ColumnKeeper(std::shared_ptr<BlockCache> cache, CoderThreads& threads)
    : shared_(std::make_shared<Shared>()), threads_(threads) {
  shared_->cache = std::move(cache);
}

ColumnKeeper::~ColumnKeeper() {
  const std::lock_guard lock(shared_->mutex);
  shared_->cache.reset();
}

bool ColumnKeeper::keep(const BlockCache::Key& key, std::shared_ptr<const model::ColumnBlock> block) {
  return threads_.later([shared = shared_, key, block = std::move(block)] {
    const std::lock_guard lock(shared->mutex);
    if (shared->cache == nullptr) return;
    const auto compact = std::make_shared<const CompactColumns>(*block);
    static_cast<void>(shared->cache->insert(key, compact, compact->bytes()));
  });
}

}  // namespace pipescope::store
