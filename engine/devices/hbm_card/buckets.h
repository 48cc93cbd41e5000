#pragma once
// Buckets of gradients. A kernel copies each gradient into its bucket, divided by the number of cards, as
// soon as all gradients of the bucket exist. The cards sum the bucket. In PyTorch's DistributedDataParallel
// the gradients are views of buckets from then on, so they take their memory once (D:
// gradient_as_bucket_view, which Optimum Habana sets). Where cards update shares, as DeepSpeed does, all
// buckets use the same memory one after another, unless CardFigures::sumsInPlace says that sums over
// micro-batches are views of them. Before the update, a kernel passes over each sum once more.
// (X: for views no source says so; without it, measured scaling over eight cards would be a per cent further
// off.)
#include <string>
#include <vector>

#include "engine/devices/hbm_card/kernel_list.h"

namespace pipescope::devices::hbm_card {

struct Bucket {
  std::string name;  ///< name of the collective
  int op = -1;       ///< index of the collective in the collective pass
  std::vector<std::size_t> gradients;
  std::int64_t bytes = 0;
  bool shares = false;       ///< each card updates its share
  bool accumulates = false;  ///< true: its gradients are sums over micro-batches, which are views of it
};

/// The buckets of a stage; none if it has no collective pass.
std::vector<Bucket> bucketsOf(const compile::StageIr& stage, const StageUses& uses);

/// Bytes of the memory that buckets share one after another, where cards update shares.
std::int64_t reduceBufferBytes(const CardModel& model, const compile::StageIr& stage, const StageUses& uses);

/// Adds a kernel for each bucket right behind the kernel that makes its last gradient in this backward pass.
/// The kernel has a start for each gradient. A bucket whose gradients another pass makes gets no kernel, and
/// neither does one of sums over micro-batches: the kernel that completes them is marked.
void packBuckets(const CardModel& model, const compile::StageIr& stage, const StageUses& uses,
                 KernelList& list);
/// Adds a kernel for each bucket at the beginning of the update, and before it the one that packs sums over
/// micro-batches unless they are views of the bucket.
void unpackBuckets(const CardModel& model, const compile::StageIr& stage, const StageUses& uses,
                   KernelList& list);

}  // namespace pipescope::devices::hbm_card
