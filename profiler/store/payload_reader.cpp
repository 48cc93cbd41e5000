#include "profiler/store/payload_reader.h"

#include <algorithm>
#include <utility>

namespace pipescope::store {

RecentPriors::Entry RecentPriors::find(const BlockRecord& block) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(kept_, [&](const Kept& kept) {
    return kept.payload == block.payload && kept.bytes == block.priorBytes;
  });
  return found == kept_.end() ? nullptr : found->priors;
}

void RecentPriors::keep(const BlockRecord& block, Entry priors) {
  const std::lock_guard lock(mutex_);
  if (kept_.size() >= kMost) kept_.erase(kept_.begin());
  kept_.push_back({block.payload, block.priorBytes, std::move(priors)});
}

base::Result<BlockBytes> PayloadReader::read(const BlockRecord& block, RecentPriors::Entry priors,
                                             const std::string& name) {
  BlockBytes found;
  if (open_ != block.payload) {
    open_ = 0;
    PIPESCOPE_ASSIGN(const bool exists, blobs_.open(block.payload, "reading " + name));
    if (!exists) return found;
    open_ = block.payload;
  }
  const auto size = static_cast<std::int64_t>(blobs_.size());
  if (block.priorBytes > size || block.offset > size || block.bytes > size - block.offset) return found;
  found.priors = std::move(priors);
  if (!found.priors)
    PIPESCOPE_TRY(blobs_.read(0, static_cast<std::size_t>(block.priorBytes), found.priorBytes));
  PIPESCOPE_TRY(blobs_.read(static_cast<std::size_t>(block.offset), static_cast<std::size_t>(block.bytes),
                            found.bytes));
  return found;
}

}  // namespace pipescope::store
