#include "app/run/request/tensor_locations.h"

#include <fmt/format.h>

#include <algorithm>

namespace pipescope::app {
namespace {

using config::Configuration;

bool hasStreamingMemory(const devices::System& system) {
  const std::vector<devices::MemorySpaceInfo>& spaces = system.devices().front().memory;
  return std::any_of(spaces.begin(), spaces.end(),
                     [](const auto& space) { return space.kind == "streaming_memory"; });
}

base::Status checkShards(const Configuration& c, const compile::TensorLocations& where, int replicas) {
  const std::pair<const char*, bool> kinds[] = {{"execution.shard_weights", where.weights.sharded},
                                                {"execution.shard_optimizer", where.optimizerState.sharded},
                                                {"execution.shard_accumulators", where.accumulators.sharded}};
  for (const auto& [key, sharded] : kinds) {
    if (!sharded || replicas > 1) continue;
    return base::badInput(
        fmt::format("{} shares tensors out over replicas, but there is one: set training.replication_factor, "
                    "or leave it out.",
                    key));
  }
  if ((where.weights.sharded || where.accumulators.sharded) && !c.tables("device_scale").empty()) {
    return base::badInput(
        "Sharded weights and accumulators couple replicas within each micro-batch, which is emulated for "
        "replicas of "
        "equal speed only: leave out [[device_scale]], or shard the optimizer's state only.");
  }
  return {};
}

}  // namespace

base::Result<compile::TensorLocations> tensorLocations(const Configuration& c, const devices::System& system,
                                                       bool training, int replicas) {
  const bool phased = c.text("execution.strategy").ends_with("phased");
  const auto location = [&](const char* kind, bool offChip, bool sharded) {
    compile::TensorLocation at;
    const std::string key = std::string("execution.offload_") + kind;
    at.offChip = offChip && (c.given(key) || !phased ? c.boolean(key) : true);
    at.sharded = sharded && c.boolean(std::string("execution.shard_") + kind);
    at.leastOffChip = c.integer("execution.offload_least_elements");
    at.leastSharded = c.integer("execution.shard_least_elements");
    return at;
  };
  compile::TensorLocations where;
  where.weights = location("weights", true, training);
  if (training) {
    where.optimizerState = location("optimizer", true, true);
    where.activations = location("activations", true, false);
    where.accumulators = location("accumulators", true, true);
  }
  const bool offChip = where.weights.offChip || where.optimizerState.offChip || where.activations.offChip ||
                       where.accumulators.offChip;
  if (offChip && !hasStreamingMemory(system)) {
    return base::badInput(
        fmt::format("System {} has no streaming memory, so nothing can be kept off the chip: leave out "
                    "execution.offload_… and the "
                    "phased strategies, or choose another system.",
                    system.name()));
  }
  PIPESCOPE_TRY(checkShards(c, where, replicas));
  return where;
}

}  // namespace pipescope::app
