#pragma once
// Buckets of gradients, as in PyTorch's DistributedDataParallel. A kernel copies each gradient into its
// bucket as soon as all gradients of the bucket exist. The cards sum the bucket. Before the update, each
// gradient is copied out again and divided by the number of cards.
#include <string>
#include <vector>

#include "engine/devices/gaudi/kernel_list.h"

namespace pipescope::devices::gaudi {

struct Bucket {
  std::string name;  ///< name of the collective
  int op = -1;       ///< index of the collective in the collective pass
  std::vector<std::size_t> gradients;
  std::int64_t bytes = 0;
};

/// The buckets of a stage; none if it has no collective pass.
std::vector<Bucket> bucketsOf(const compile::StagePlan& stage, const StageUses& uses);

/// Adds a kernel for each bucket right behind the kernel that makes its last gradient in this backward pass.
/// The kernel has a start for each gradient. A bucket whose gradients another pass makes gets no kernel.
void packBuckets(const Card& card, const compile::StagePlan& stage, const StageUses& uses, KernelList& list);
/// Adds a kernel for each bucket at the beginning of the update.
void unpackBuckets(const Card& card, const compile::StagePlan& stage, const StageUses& uses,
                   KernelList& list);

}  // namespace pipescope::devices::gaudi
