#include "engine/devices/gaudi/buckets.h"

#include <algorithm>

namespace pipescope::devices::gaudi {
namespace {

ListedKernel copyKernel(const Card& card, const compile::StagePlan& stage, const Bucket& bucket,
                        const char* name) {
  ListedKernel copy;
  for (const std::size_t gradient : bucket.gradients) {
    const graph::TensorType& type = stage.tensors.items()[gradient].type;
    copy.kernel.arithmetic += tpcKernel(card, name, type.elements(), type.element, 1).arithmetic;
  }
  copy.kernel.engine = Engine::tpc;
  copy.kernel.name = name;
  copy.kernel.starts = static_cast<std::int64_t>(bucket.gradients.size());
  copy.path = bucket.name;
  return copy;
}

/// Inserts a kernel in front of the one at `place`. Operators keep the kernels that they have.
void insert(KernelList& list, std::size_t place, ListedKernel kernel) {
  list.kernels.insert(list.kernels.begin() + static_cast<std::ptrdiff_t>(place), std::move(kernel));
  const auto at = static_cast<std::int32_t>(place);
  for (std::size_t op = 0; op < list.first.size(); ++op) {
    if (list.first[op] >= at) ++list.first[op];
    if (list.end[op] > at) ++list.end[op];
  }
}

/// The place behind the kernel that makes the last of the gradients; 0: this pass makes none of them.
std::size_t completeAfter(const Bucket& bucket, const KernelList& list) {
  for (std::size_t k = list.kernels.size(); k > 0; --k) {
    for (const std::size_t made : list.kernels[k - 1].makes) {
      if (std::find(bucket.gradients.begin(), bucket.gradients.end(), made) != bucket.gradients.end())
        return k;
    }
  }
  return 0;
}

}  // namespace

std::vector<Bucket> bucketsOf(const compile::StagePlan& stage, const StageUses& uses) {
  std::vector<Bucket> buckets;
  for (const compile::PassPlan& pass : stage.passes) {
    if (pass.pass != model::Pass::collective) continue;
    for (std::size_t i = 0; i < pass.operators.size(); ++i) {
      const compile::PlanOperator& op = pass.operators[i];
      Bucket bucket{op.name, static_cast<int>(i), {}, 0};
      for (const compile::PlanTensorId id : op.inputs) {
        if (!id.valid()) continue;
        bucket.gradients.push_back(uses.root(static_cast<std::size_t>(id.value)));
        bucket.bytes += stage.tensors.items()[bucket.gradients.back()].type.bytes().count;
      }
      if (!bucket.gradients.empty()) buckets.push_back(std::move(bucket));
    }
  }
  return buckets;
}

void packBuckets(const Card& card, const compile::StagePlan& stage, const StageUses& uses, KernelList& list) {
  for (const Bucket& bucket : bucketsOf(stage, uses)) {
    const std::size_t place = completeAfter(bucket, list);
    if (place == 0) continue;
    ListedKernel pack = copyKernel(card, stage, bucket, "PackBucket");
    pack.op = list.kernels[place - 1].op;
    pack.bucket = bucket.op;
    pack.reads = bucket.gradients;
    pack.kernel.bucketWritten = bucket.bytes;
    insert(list, place, std::move(pack));
  }
}

void unpackBuckets(const Card& card, const compile::StagePlan& stage, const StageUses& uses,
                   KernelList& list) {
  const std::vector<Bucket> buckets = bucketsOf(stage, uses);
  for (auto bucket = buckets.rbegin(); bucket != buckets.rend(); ++bucket) {
    ListedKernel unpack = copyKernel(card, stage, *bucket, "UnpackBucket");
    unpack.makes = bucket->gradients;
    unpack.kernel.bucketRead = bucket->bytes;
    insert(list, 0, std::move(unpack));
  }
}

}  // namespace pipescope::devices::gaudi
