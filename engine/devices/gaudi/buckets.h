#pragma once
// Buckets of gradients, as PyTorch's DistributedDataParallel has them: each gradient is copied into its
// bucket when it has been made, the bucket is summed over the cards, and each gradient is copied out again,
// divided by their number, before the update.
#include <string>
#include <vector>

#include "engine/devices/gaudi/kernel_list.h"

namespace pipescope::devices::gaudi {

struct Bucket {
  std::string name;  ///< of the collective
  int op = -1;       ///< its place in the collective pass
  std::vector<std::size_t> gradients;
  std::int64_t bytes = 0;
};

/// None without a collective pass.
std::vector<Bucket> bucketsOf(const compile::StagePlan& stage, const StageUses& uses);

/// Adds a kernel for each bucket behind the one that makes its last gradient in this (backward) pass: a start
/// for each gradient. Buckets whose gradients other passes make get none.
void packBuckets(const Card& card, const compile::StagePlan& stage, const StageUses& uses, KernelList& list);
/// Likewise at the beginning of the update, one for each bucket.
void unpackBuckets(const Card& card, const compile::StagePlan& stage, const StageUses& uses,
                   KernelList& list);

}  // namespace pipescope::devices::gaudi
