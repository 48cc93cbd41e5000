#include "engine/devices/hbm_card/buckets.h"

#include <algorithm>
#include <map>
#include <utility>
#include <variant>

#include "engine/devices/hbm_card/card_model.h"

namespace pipescope::devices::hbm_card {
namespace {

ListedKernel copyKernel(const CardModel& model, const compile::StageIr& stage, const Bucket& bucket,
                        const char* name) {
  ListedKernel copy;
  for (const std::size_t gradient : bucket.gradients) {
    const graph::TensorType& type = stage.tensors.items()[gradient].type;
    copy.kernel.arithmetic += model.copySeconds(type.elements(), type.element);
  }
  copy.kernel.engine = Engine::vector;
  copy.kernel.name = name;
  copy.kernel.starts = static_cast<std::int64_t>(bucket.gradients.size());
  copy.path = bucket.name;
  return copy;
}

ListedKernel packKernel(const CardModel& model, const compile::StageIr& stage, const Bucket& bucket) {
  ListedKernel pack = copyKernel(model, stage, bucket, "PackBucket");
  pack.reads = bucket.gradients;
  pack.kernel.bucketWritten = bucket.bytes;
  return pack;
}

/// True if each card updates only its share of what the collective sums: it receives only that, or the update
/// gathers the weights afterwards.
bool sharesOf(const compile::IrOperator& sum, const compile::StageIr& stage) {
  const auto* work = std::get_if<ops::Collective>(&sum.work.front().item);
  if (work != nullptr && work->kind == ops::Collective::Kind::reduceScatter) return true;
  return std::ranges::any_of(stage.passes, [](const compile::PassIr& pass) {
    return pass.pass == model::Pass::update &&
           std::ranges::any_of(pass.operators,
                               [](const compile::IrOperator& op) { return op.kind == "AllGather"; });
  });
}

/// A kernel and the place in the list that it goes in front of.
struct Insertion {
  std::size_t place;
  ListedKernel kernel;
};

/// Inserts kernels, ordered by their places. Operators keep the kernels that they have.
void insertAll(KernelList& list, std::vector<Insertion> insertions) {
  std::vector<ListedKernel> kernels;
  std::vector<std::int32_t> before;  // insertions in front of the kernel at each old place
  std::size_t next = 0;
  for (std::size_t k = 0; k <= list.kernels.size(); ++k) {
    for (; next < insertions.size() && insertions[next].place == k; ++next)
      kernels.push_back(std::move(insertions[next].kernel));
    before.push_back(static_cast<std::int32_t>(next));
    if (k < list.kernels.size()) kernels.push_back(std::move(list.kernels[k]));
  }
  list.kernels = std::move(kernels);
  for (std::size_t op = 0; op < list.first.size(); ++op) {
    list.first[op] += before[static_cast<std::size_t>(list.first[op])];
    if (list.end[op] > 0) list.end[op] += before[static_cast<std::size_t>(list.end[op]) - 1];
  }
}

}  // namespace

std::int64_t reduceBufferBytes(const CardModel& model, const compile::StageIr& stage, const StageUses& uses) {
  const bool inPlace = model.figures().sumsInPlace;
  std::int64_t most = 0;
  for (const Bucket& bucket : bucketsOf(stage, uses)) {
    if (bucket.shares && !(inPlace && bucket.accumulates)) most = std::max(most, bucket.bytes);
  }
  for (const compile::PassIr& pass : stage.passes) {
    if (pass.pass != model::Pass::backward && pass.pass != model::Pass::weightGradient) continue;
    for (const compile::IrOperator& op : pass.operators) {
      for (const ops::Work& work : op.work) {
        const auto* sum = std::get_if<ops::Collective>(&work.item);
        if (sum != nullptr && !sum->ofModel && sum->kind != ops::Collective::Kind::allGather)
          most = std::max(most, sum->elements * graph::sizeOf(sum->type));
      }
    }
  }
  return most;
}

std::vector<Bucket> bucketsOf(const compile::StageIr& stage, const StageUses& uses) {
  std::vector<Bucket> buckets;
  for (const compile::PassIr& pass : stage.passes) {
    if (pass.pass != model::Pass::collective) continue;
    for (std::size_t i = 0; i < pass.operators.size(); ++i) {
      const compile::IrOperator& op = pass.operators[i];
      const auto* sum = op.work.empty() ? nullptr : std::get_if<ops::Collective>(&op.work.front().item);
      // Places add up the gradients of tied weights where these lie.
      if (sum != nullptr && sum->axis == model::MeshAxis::pipe) continue;
      Bucket bucket{op.name, static_cast<int>(i), {}, 0};
      for (const compile::IrTensorId id : op.inputs) {
        if (!id.valid()) continue;
        bucket.gradients.push_back(uses.root(static_cast<std::size_t>(id.value)));
        const compile::IrTensor& gradient = stage.tensors.items()[bucket.gradients.back()];
        bucket.bytes += gradient.type.bytes().count;
        bucket.accumulates = bucket.accumulates || isAlwaysLive(gradient.use);
      }
      bucket.shares = sharesOf(op, stage);
      if (!bucket.gradients.empty()) buckets.push_back(std::move(bucket));
    }
  }
  return buckets;
}

void packBuckets(const CardModel& model, const compile::StageIr& stage, const StageUses& uses,
                 KernelList& list) {
  std::map<std::size_t, std::size_t> behindMaker;  // place behind the kernel that makes each tensor last
  for (std::size_t k = 0; k < list.kernels.size(); ++k) {
    for (const std::size_t made : list.kernels[k].makes) behindMaker[made] = k + 1;
  }
  std::vector<Insertion> packs;
  for (const Bucket& bucket : bucketsOf(stage, uses)) {
    std::size_t place = 0;
    for (const std::size_t gradient : bucket.gradients) {
      if (const auto made = behindMaker.find(gradient); made != behindMaker.end())
        place = std::max(place, made->second);
    }
    if (place == 0) continue;  // this pass makes none of them
    if (bucket.accumulates) {
      // Every micro-batch runs this pass, but the sums are packed once, so the update has that kernel.
      for (std::size_t k = place - 1; k < list.kernels.size(); ++k) {
        if (list.kernels[k].bucket >= 0) continue;
        list.kernels[k].bucket = bucket.op;
        break;
      }
      continue;
    }
    ListedKernel pack = packKernel(model, stage, bucket);
    pack.op = list.kernels[place - 1].op;
    pack.bucket = bucket.op;
    packs.push_back({place, std::move(pack)});
  }
  // Buckets that are complete at the same place are packed in reverse order: the last one comes first.
  std::reverse(packs.begin(), packs.end());
  std::stable_sort(packs.begin(), packs.end(),
                   [](const Insertion& a, const Insertion& b) { return a.place < b.place; });
  insertAll(list, std::move(packs));
}

void unpackBuckets(const CardModel& model, const compile::StageIr& stage, const StageUses& uses,
                   KernelList& list) {
  std::vector<Insertion> unpacks;
  for (const Bucket& bucket : bucketsOf(stage, uses)) {
    if (bucket.accumulates && !model.figures().sumsInPlace)
      unpacks.push_back({0, packKernel(model, stage, bucket)});
    ListedKernel unpack = copyKernel(model, stage, bucket, "UnpackBucket");
    unpack.makes = bucket.gradients;
    unpack.kernel.bucketRead = bucket.bytes;
    unpacks.push_back({0, std::move(unpack)});
  }
  insertAll(list, std::move(unpacks));
}

}  // namespace pipescope::devices::hbm_card
