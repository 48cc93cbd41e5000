#include "engine/compiler/tensor_placement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace pipescope::compile {
namespace {

bool hasStreamingMemory(const devices::System& system) {
  const devices::SharedList<devices::MemorySpaceInfo>& spaces = system.devices().front().memory;
  return std::any_of(spaces.begin(), spaces.end(),
                     [](const auto& space) { return space.kind == "streaming_memory"; });
}

base::Status checkShards(const ModelRequest& request, const TensorLocations& where, bool training,
                         int replicas) {
  const std::pair<const char*, bool> kinds[] = {{"execution.shard_weights", where.weights.sharded},
                                                {"execution.shard_optimizer", where.optimizerState.sharded},
                                                {"execution.shard_accumulators", where.accumulators.sharded}};
  for (const auto& [key, sharded] : kinds) {
    if (!sharded || replicas > 1) continue;
    return base::badInput(
        fmt::format("{} shares tensors out over replicas, but there is one: set {}.replication_factor, "
                    "or leave it out.",
                    key, training ? "training" : "inference"));
  }
  if ((where.weights.sharded || where.accumulators.sharded) && !request.scales.empty()) {
    return base::badInput(
        "Sharded weights and accumulators couple replicas within each micro-batch, which is emulated for "
        "replicas of equal speed only: leave out [[device_scale]], or shard the optimizer's state only.");
  }
  return {};
}

/// The keys that keep tensors off the chip.
std::vector<std::string> keysOffChip(const TensorLocations& where) {
  std::vector<std::string> keys;
  if (where.weights.offChip) keys.emplace_back("execution.offload_weights");
  if (where.optimizerState.offChip) keys.emplace_back("execution.offload_optimizer");
  if (where.activations.offChip) keys.emplace_back("execution.offload_activations");
  if (where.accumulators.offChip) keys.emplace_back("execution.offload_accumulators");
  return keys;
}

}  // namespace

base::Result<TensorLocations> placeTensors(const ModelRequest& request, const devices::System& system,
                                           bool training, int replicas) {
  TensorLocations where = request.locations;
  if (!training) {
    where = TensorLocations();
    where.weights = request.locations.weights;
    // Validation beside a training has whole weights. An inference by itself shares them if that is asked for
    // (ZeRO-Inference).
    const bool alone = std::ranges::none_of(request.executables, [](const ExecutableRequest& each) {
      return each.kind == model::ExecutableKind::training;
    });
    where.weights.sharded = where.weights.sharded && alone;
  }
  if (const std::vector<std::string> keys = keysOffChip(where);
      !keys.empty() && !hasStreamingMemory(system)) {
    return base::badInput(fmt::format(
        "System {} has no streaming memory, so nothing can be kept off the chip: leave out {} and "
        "the phased strategies, or choose another system.",
        system.name(), fmt::join(keys, ", ")));
  }
  if (request.sharesIfReplicated && replicas == 1)
    where.weights.sharded = where.optimizerState.sharded = where.accumulators.sharded = false;
  PIPESCOPE_TRY(checkShards(request, where, training, replicas));
  return where;
}

}  // namespace pipescope::compile
