#include "engine/compile/ir_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "engine/compile/recompute.h"
#include "engine/compile/stage_builder.h"

namespace pipescope::compile {
namespace {

/// Finds the tensors that cross between stages. A tensor that skips stages passes through each of them.
class BoundaryFinder {
 public:
  BoundaryFinder(const graph::Graph& graph, const StageOfNodes& stageOf) : graph_(graph), stageOf_(stageOf) {}

  std::vector<StageBoundary> find() {
    for (const graph::Node& node : graph_.nodes()) {
      const int consumer = stageOf_[node.id];
      for (const graph::TensorId input : node.inputs) {
        if (!input.valid() || !graph_.tensor(input).producer.valid()) continue;
        const graph::Node& producer = graph_.node(graph_.tensor(input).producer);
        const int from = stageOf_[producer.id];
        if (producer.pass == node.pass && from != consumer) addHops(input, from, consumer, producer.pass);
        // If a backward node needs a forward value of another stage, the forward pass carries the value
        // there.
        if (producer.pass != node.pass && from < consumer)
          addHops(input, from, consumer, model::Pass::forward);
      }
    }
    return std::move(found_);
  }

 private:
  void addHops(graph::TensorId tensor, int from, int to, model::Pass pass) {
    const int step = to > from ? 1 : -1;
    for (int stage = from; stage != to; stage += step) {
      if (seen_.insert({tensor, stage, stage + step}).second)
        found_.push_back({tensor, stage, stage + step, pass});
    }
  }

  const graph::Graph& graph_;
  const StageOfNodes& stageOf_;
  std::set<std::tuple<graph::TensorId, int, int>> seen_;
  std::vector<StageBoundary> found_;
};

StageOfNodes stageOfNodes(const graph::Graph& graph, const std::vector<StageSpec>& stages) {
  const std::map<std::string, int> stageOf = stageOfBlocks(stages);
  StageOfNodes all;
  all.reserve(graph.nodes().size());
  for (const graph::Node& node : graph.nodes()) all.push_back(stageOf.at(node.block));
  return all;
}

/// Repeats the IR for each pipe.
base::Result<ExecutableIr> buildPipes(const graph::Graph& graph, const std::vector<StageSpec>& stages,
                                      const IrOptions& options, const ops::OperatorRegistry& registry) {
  const std::size_t count = stages.size();
  const auto part = [count](const std::vector<std::int64_t>& entries, std::size_t pipe) {
    const auto first = entries.begin() + static_cast<std::ptrdiff_t>(pipe * count);
    return std::vector<std::int64_t>(first, first + static_cast<std::ptrdiff_t>(count));
  };
  ExecutableIr ir;
  for (std::size_t pipe = 0; pipe < static_cast<std::size_t>(options.pipes); ++pipe) {
    IrOptions own = options;
    own.pipes = 1;
    own.stashEntries = part(options.stashEntries, pipe);
    own.weightEntries = part(options.weightEntries, pipe);
    PIPESCOPE_ASSIGN(ExecutableIr one, buildIr(graph, stages, own, registry));
    const int first = static_cast<int>(pipe * count);
    for (StageIr& stage : one.stages) {
      stage.index += first;
      stage.place = options.placeOfStage[static_cast<std::size_t>(stage.index)];
    }
    for (BoundaryTensor& boundary : one.boundaries) {
      boundary.fromStage += first;
      boundary.toStage += first;
    }
    if (pipe == 0) {
      ir = std::move(one);
      continue;
    }
    std::move(one.stages.begin(), one.stages.end(), std::back_inserter(ir.stages));
    std::move(one.boundaries.begin(), one.boundaries.end(), std::back_inserter(ir.boundaries));
  }
  return ir;
}

/// Refuses tied weights whose copies would not stay the same.
base::Status checkTied(const graph::Graph& graph, const std::vector<TiedWeight>& tied,
                       const std::vector<PartialGradient>& partial, const IrOptions& options) {
  if (options.kind != model::ExecutableKind::training) return {};
  for (const TiedWeight& weight : tied) {
    const std::string& name = graph.tensor(weight.parameter).name;
    if (options.locations.accumulators.offChip)
      return base::badInput(fmt::format(
          "Stages on several devices use parameter {} and add up its gradients there, which "
          "execution.offload_accumulators keeps in streaming memory: put its users on one device, "
          "or leave the option out.",
          name));
    if (std::ranges::any_of(graph.stateUpdates,
                            [&](const auto& each) { return each.parameter == weight.parameter; }))
      return base::badInput(fmt::format(
          "The forward pass writes parameter {}, which stages on several devices use: put its users on one "
          "device.",
          name));
    std::set<int> trained;
    for (const PartialGradient& part : partial)
      if (part.parameter == weight.parameter) trained.insert(part.place);
    const bool any = !trained.empty() || std::ranges::any_of(graph.parameterGradients, [&](const auto& each) {
      return each.first == weight.parameter;
    });
    if (any && trained.size() < weight.places.size())
      return base::badInput(fmt::format(
          "Stages on several devices use parameter {}, but not all of them compute a gradient of it, so its "
          "copies would differ: put its users on one device.",
          name));
  }
  return {};
}

}  // namespace

base::Result<ExecutableIr> buildIr(const graph::Graph& graph, const std::vector<StageSpec>& stages,
                                   const IrOptions& options, const ops::OperatorRegistry& registry) {
  if (options.pipes > 1) return buildPipes(graph, stages, options, registry);
  PIPESCOPE_CHECK(options.stashEntries.size() == stages.size(), "a stash depth for each stage");
  if (options.recompute) {
    std::vector<bool> whole;
    for (std::size_t s = 0; s < stages.size(); ++s)
      whole.push_back(options.stashEntries[s] > 0 || s + 1 < stages.size());
    PIPESCOPE_ASSIGN(const graph::Graph again, withRecompute(graph, stages, whole, options.checkpoints));
    IrOptions kept = options;
    kept.recompute = false;
    return buildIr(again, stages, kept, registry);
  }
  const std::optional<LocalSums> sums = withLocalSums(graph, stages);
  const graph::Graph& planned = sums ? sums->graph : graph;
  const StageOfNodes stageOf = stageOfNodes(planned, stages);
  const std::vector<PartialGradient> partial = sums ? sums->partial : std::vector<PartialGradient>();
  const std::vector<StageBoundary> boundaries = BoundaryFinder(planned, stageOf).find();
  const std::vector<TiedWeight> tied = tiedWeights(planned, stages);
  PIPESCOPE_TRY(checkTied(planned, tied, partial, options));
  ExecutableIr ir;
  ir.name = options.name;
  ir.kind = options.kind;
  ir.mesh = options.mesh;
  // Weights of tied layers, their accumulators, and constants lie once on a place: the first stage that has
  // them keeps them.
  std::set<std::pair<int, std::string>> shared;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    StageBuilder builder(planned, partial, tied, stageOf, boundaries, options, registry, static_cast<int>(s));
    PIPESCOPE_ASSIGN(StageIr stage, builder.build());
    stage.place = stages[s].place;
    stage.mesh = options.mesh;
    stage.overlapsCollectives = options.overlapCollectives;
    stage.blocks = stages[s].blocks;
    std::vector<std::string> constants;  // of this stage, where several may have one name
    for (IrTensor& tensor : stage.tensors) {
      if (tensor.use == TensorUse::weight || tensor.use == TensorUse::accumulator)
        tensor.shared = !shared.insert({stage.place, tensor.name}).second;
      if (tensor.use != TensorUse::constant) continue;
      tensor.shared = shared.contains({stage.place, tensor.name});
      constants.push_back(tensor.name);
    }
    for (std::string& name : constants) shared.insert({stage.place, std::move(name)});
    ir.stages.push_back(std::move(stage));
  }
  for (const StageBoundary& b : boundaries) {
    const graph::Tensor& tensor = planned.tensor(b.tensor);
    ir.boundaries.push_back(
        {tensor.name, tensor.type, b.fromStage, b.toStage,
         b.pass == model::Pass::forward ? model::TransferKind::activation : model::TransferKind::gradient});
  }
  return ir;
}

}  // namespace pipescope::compile
