#include "app/plan/dimension_axes.h"

#include <algorithm>
#include <cstdlib>

#include "engine/schedules/schedule.h"

namespace pipescope::app {
namespace {

using Texts = std::vector<std::string>;

const Texts kLeft{""};

Texts divisorsOf(std::int64_t number, std::int64_t most) {
  Texts all;
  for (std::int64_t n = 1; n <= std::min(number, most); ++n)
    if (number % n == 0) all.push_back(std::to_string(n));
  return all;
}

constexpr const char* kTensor = "execution.tensor_parallel";
constexpr const char* kContext = "execution.context_parallel";
constexpr const char* kExperts = "execution.expert_parallel";
constexpr const char* kPlaces = "execution.stages";
constexpr const char* kSchedule = "execution.schedule";

/// Chips of a replica with the axes that are chosen.
std::int64_t chipsOfReplica(const AxisContext& at) {
  std::int64_t chips = 1;
  for (const PlanAxis& axis : planAxes())
    if (axis.takesChips && at.chosen.contains(axis.key)) chips *= at.number(axis.key);
  return chips;
}

Texts tensorRanks(const AxisContext& at) {
  constexpr std::int64_t kMost = 1024;
  return divisorsOf(at.chips, kMost);
}

Texts sequenceOrNot(const AxisContext& at) {
  return at.number(kTensor) > 1 ? Texts{"", "true"} : kLeft;
}

/// Long samples only: the sums over ranks that hold the same weights cost more than short ones save.
Texts contextRanks(const AxisContext& at) {
  constexpr std::int64_t kLong = 16384, kMost = 8;
  if (at.positions < kLong) return kLeft;
  Texts all;
  for (const std::string& ranks : divisorsOf(at.chips / chipsOfReplica(at), kMost))
    if (at.positions % std::atoll(ranks.c_str()) == 0) all.push_back(ranks);
  return all;
}

Texts expertRanks(const AxisContext& at) {
  if (at.experts == 0) return kLeft;
  Texts all;
  for (const std::string& ranks : divisorsOf(at.chips / chipsOfReplica(at), at.experts))
    if (at.experts % std::atoll(ranks.c_str()) == 0) all.push_back(ranks);
  return all;
}

Texts places(const AxisContext& at) {
  return divisorsOf(at.chips / chipsOfReplica(at), at.blocks);
}

/// Megatron and DeepSpeed have these schedules only. The default of the key is tried, too, because it is the
/// order of the framework for which it was made.
Texts schedules(const AxisContext& at) {
  if (at.number(kPlaces) == 1) return kLeft;
  if (!at.training) return kLeft;
  if (at.framework == "deepspeed") return {"1f1b"};
  if (at.framework == "megatron") return {"1f1b", "interleaved-1f1b"};
  if (at.framework == "torchtitan") return {"1f1b", "interleaved-1f1b", "zb-v"};
  return {"1f1b", "interleaved-1f1b", "zb-h1", "zb-v", "popart"};
}

/// Interleaved stages need a multiple of the places as micro-batches.
Texts chunks(const AxisContext& at) {
  const auto found = at.chosen.find(kSchedule);
  const std::string schedule = found == at.chosen.end() ? "" : found->second;
  if (at.number(kPlaces) == 1) return kLeft;
  if (schedule == "zb-v") return 2 * at.number(kPlaces) <= at.blocks ? Texts{"2"} : Texts();
  if (schedule != "interleaved-1f1b") return kLeft;
  Texts all;
  for (const std::int64_t each : {2, 4, 8})
    if (each * at.number(kPlaces) <= at.blocks) all.push_back(std::to_string(each));
  return all;
}

Texts microBatchSizes(const AxisContext& at) {
  // Ranks that divide experts take samples of their own.
  const std::int64_t replicas = at.chips / chipsOfReplica(at) * at.number(kExperts);
  if (replicas < 1 || at.samples % replicas != 0) return {};
  return divisorsOf(at.samples / replicas, kLargestMicroBatch);
}

/// Megatron shares out the optimizer's state only. DeepSpeed's pipelines work with stage 1 only.
Texts zeroStages(const AxisContext& at) {
  if (chipsOfReplica(at) >= at.chips) return kLeft;
  const bool few = at.framework == "megatron" || (at.framework == "deepspeed" && at.number(kPlaces) > 1);
  return few ? Texts{"", "1"} : Texts{"", "1", "2", "3"};
}

/// DeepSpeed and Megatron compute a layer again, not a stage. Only Megatron has an option for scores.
Texts recomputes(const AxisContext& at) {
  Texts values{"none"};
  if (at.keepsScores && (at.framework.empty() || at.framework == "megatron")) values.push_back("selective");
  if (at.number(kPlaces) > 1 && (at.framework.empty() || at.framework == "poptorch"))
    values.push_back("pipeline");
  values.push_back("checkpoints");
  return values;
}

}  // namespace

std::int64_t AxisContext::number(const std::string& key) const {
  const auto found = chosen.find(key);
  return found == chosen.end() || found->second.empty() ? 1 : std::atoll(found->second.c_str());
}

const std::vector<PlanAxis>& planAxes() {
  static const std::vector<PlanAxis> axes{
      {kTensor, "TP", true, true, true, true, tensorRanks},
      {"execution.sequence_parallel", "SP", false, true, true, true, sequenceOrNot},
      {kContext, "CP", true, true, true, true, contextRanks},
      {kExperts, "EP", true, true, true, true, expertRanks},
      {kPlaces, "PP", true, false, true, true, places},
      {kSchedule, "Schedule", false, false, true, true, schedules},
      {"execution.chunks", "Chunks", false, false, true, true, chunks},
      {"training.micro_batch_size", "Micro-batch", false, true, true, false, microBatchSizes},
      {"inference.micro_batch_size", "Micro-batch", false, true, false, true, microBatchSizes},
      {"execution.zero", "ZeRO", false, false, true, false, zeroStages},
      {"execution.recompute", "Recompute", false, false, true, false, recomputes},
  };
  return axes;
}

bool fixedByOtherKeys(const PlanAxis& axis, const config::Configuration& given) {
  const auto anyGiven = [&](std::initializer_list<const char*> keys) {
    return std::ranges::any_of(keys, [&](const char* key) { return given.given(key); });
  };
  if (std::string_view(axis.key) == "execution.zero")
    return anyGiven({"execution.shard_optimizer", "execution.shard_accumulators", "execution.shard_weights"});
  return std::string_view(axis.key) == "execution.recompute" && anyGiven({"execution.checkpoints"});
}

}  // namespace pipescope::app
