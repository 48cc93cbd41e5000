#include "app/plan/dimension_costs.h"

#include <algorithm>
#include <map>

#include "app/plan/plan_variants.h"
#include "app/run/request/configuration_checks.h"
#include "app/run/request/model_translation.h"
#include "engine/compiler/model_compiler.h"
#include "engine/ops/standard_operators.h"
#include "engine/plan/split_costs.h"
#include "engine/plan/tried_plan.h"

namespace pipescope::app {
namespace {

using config::Configuration;

constexpr const char* kLayers = "model.layers";

/// Figures of a rank that was compiled as one stage.
struct WholeRank {
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> blocks;  ///< cost and cost of recomputing
  std::string lastLayer;                                                ///< the last numbered block
  double leastForward = 0, leastWork = 0, leastForwardOfBlock = 0;
  double weights = 0, optimizer = 0, accumulators = 0, used = 0, update = 0;
  double boundary = 0, room = 0, units = 1;
  std::shared_ptr<const devices::System> system;
};

/// The configuration as one stage of one replica, with accumulated gradients and nothing shared out.
base::Result<compile::ModelRequest> wholeRequest(const Configuration& given, std::int64_t layers) {
  Configuration c = given;
  if (layers > 0) PIPESCOPE_TRY(c.replace(kLayers, layers));
  for (const char* key :
       {"execution.shard_optimizer", "execution.shard_accumulators", "execution.shard_weights"})
    PIPESCOPE_TRY(c.replace(key, false));
  for (const char* key :
       {"training.replication_factor", "inference.replication_factor", "training.input_replica_grouping",
        "inference.input_replica_grouping", "training.norm_replicas", "inference.device_iterations"})
    PIPESCOPE_TRY(c.replace(key, std::int64_t{1}));
  PIPESCOPE_TRY(c.replace("execution.zero", std::int64_t{0}));
  PIPESCOPE_TRY(c.replace("system.devices", std::int64_t{0}));
  PIPESCOPE_TRY(c.replace("training.gradient_accumulation", std::int64_t{2}));
  PIPESCOPE_TRY(c.replace("execution.recompute", std::string("none")));
  PIPESCOPE_TRY(c.replace("execution.checkpoints", std::vector<std::string>()));
  PIPESCOPE_ASSIGN(const Configuration resolved, resolvedConfiguration(c));
  PIPESCOPE_TRY(checkConfiguration(resolved));
  PIPESCOPE_ASSIGN(compile::ModelRequest request, modelRequest(resolved));
  request.executables.resize(1);
  request.layout.stages.clear();
  request.layout.whole = true;
  request.layout.splitInto = 0;
  request.layout.chunks = 0;
  request.computesNumbers = false;
  return request;
}

void addLeastTimes(const devices::LoweredDevice& device, double ticksPerSecond, WholeRank& whole) {
  std::map<std::string, double> forward;
  for (const devices::LoweredPass& pass : device.passes) {
    for (const devices::LoweredOperator& op : pass.operators) {
      const model::Pass kind = op.pass.value_or(pass.pass);
      if (!isComputePass(kind)) continue;
      whole.leastWork += op.leastSeconds * ticksPerSecond;
      if (kind == model::Pass::forward) forward[op.block] += op.leastSeconds * ticksPerSecond;
    }
    if (pass.pass == model::Pass::update) whole.update += static_cast<double>(pass.ticks().count);
  }
  for (const auto& [block, ticks] : forward) {
    whole.leastForward += ticks;
    whole.leastForwardOfBlock = std::max(whole.leastForwardOfBlock, ticks);
  }
}

void addHeldBytes(const compile::StageIr& stage, WholeRank& whole) {
  for (const compile::IrTensor& tensor : stage.tensors) {
    if (tensor.shared || tensor.remote) continue;
    const double bytes = static_cast<double>(tensor.type.bytes().count * tensor.copies) / whole.units;
    if (tensor.use == compile::TensorUse::weight) whole.weights += bytes;
    if (tensor.use == compile::TensorUse::optimizerState) whole.optimizer += bytes;
    if (tensor.use == compile::TensorUse::accumulator) whole.accumulators += bytes;
  }
}

bool nameIsNumbered(const std::string& block) {
  return !block.empty() && block.back() >= '0' && block.back() <= '9';
}

base::Status addBlocks(const compile::CompiledExecutable& compiled, const graph::Graph& forward,
                       WholeRank& whole) {
  const std::vector<graph::NodeId> order = plan::splitOrder(forward, ops::standardOperators());
  PIPESCOPE_ASSIGN(const plan::SplitCosts costs, plan::splitCosts(compiled, forward, order, {}));
  for (std::size_t u = 0; u < order.size(); ++u) {
    const std::string& block = forward.node(order[u]).block;
    auto& [cost, again] = whole.blocks[block];
    cost += costs.cost[u];
    again += costs.again[u];
    const bool begins = u > 0 && forward.node(order[u - 1]).block != block;
    if (begins) {
      whole.boundary = std::max(whole.boundary, static_cast<double>(costs.activationBytes[u]) / whole.units);
    }
  }
  for (const std::string& block : compile::blocksOf(forward))
    if (nameIsNumbered(block)) whole.lastLayer = block;
  return {};
}

base::Result<WholeRank> measure(const Configuration& c, std::int64_t layers, compile::LoweredStages& known) {
  PIPESCOPE_ASSIGN(const compile::ModelRequest request, wholeRequest(c, layers));
  base::SerialExecutor serial;
  PIPESCOPE_ASSIGN(const compile::Compilation compiled, compile::compileModel(request, serial, &known));
  const compile::CompiledExecutable& executable = compiled.executables.front();
  const devices::DeviceInfo& device = compiled.system->devices().front();
  WholeRank whole;
  whole.system = compiled.system;
  const plan::FullestUnit unit = plan::fullestUnit(executable.lowered.front(), device);
  whole.used = static_cast<double>(unit.used);
  whole.room = static_cast<double>(unit.room);
  for (const devices::MemorySpaceInfo& space : device.memory)
    if (space.bytesPerUnit.count == unit.room) whole.units = static_cast<double>(space.units);
  addLeastTimes(executable.lowered.front(), static_cast<double>(device.ticksPerSecond), whole);
  addHeldBytes(executable.ir.stages.front(), whole);
  PIPESCOPE_TRY(addBlocks(executable, *request.executables.front().forward, whole));
  return whole;
}

/// Layers of a model that is made of many equal ones; 0: it is not.
std::int64_t repeatedLayers(const Configuration& c) {
  constexpr std::int64_t kFewest = 6;
  if (c.text("model.builder").empty() || !c.applies(kLayers)) return 0;
  const std::int64_t layers = c.integer(kLayers);
  return layers < kFewest ? 0 : layers;
}

}  // namespace

base::Result<RankCosts> rankCosts(const Configuration& configuration, const std::vector<std::string>& blocks,
                                  compile::LoweredStages& known) {
  constexpr std::int64_t kSmall = 4;
  const std::int64_t layers = repeatedLayers(configuration);
  PIPESCOPE_ASSIGN(const WholeRank more, measure(configuration, layers > 0 ? kSmall : 0, known));
  WholeRank fewer;
  if (layers > 0) {
    PIPESCOPE_ASSIGN(fewer, measure(configuration, kSmall - 1, known));
  }
  RankCosts costs;
  costs.layers = layers > 0 ? layers : static_cast<std::int64_t>(blocks.size());
  const auto figure = [&](double WholeRank::*of) {
    if (layers == 0) return LayeredFigure{more.*of, more.*of / static_cast<double>(costs.layers)};
    const double layer = std::max(0.0, more.*of - fewer.*of);
    return LayeredFigure{more.*of + static_cast<double>(layers - kSmall) * layer, layer};
  };
  costs.weights = figure(&WholeRank::weights);
  costs.optimizer = figure(&WholeRank::optimizer);
  costs.accumulators = figure(&WholeRank::accumulators);
  costs.used = figure(&WholeRank::used);
  costs.update = figure(&WholeRank::update);
  costs.leastForward = figure(&WholeRank::leastForward).all;
  costs.leastWork = figure(&WholeRank::leastWork).all;
  costs.leastForwardOfBlock = more.leastForwardOfBlock;
  costs.boundary = more.boundary;
  costs.room = more.room;
  costs.units = more.units;
  costs.system = more.system;
  costs.blocks.blocks = blocks;
  for (const std::string& block : blocks) {
    const auto found = more.blocks.find(block);
    const auto& [cost, again] = found != more.blocks.end() ? found->second : more.blocks.at(more.lastLayer);
    costs.blocks.cost.push_back(cost);
    costs.blocks.again.push_back(again);
  }
  return costs;
}

}  // namespace pipescope::app
