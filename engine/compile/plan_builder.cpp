#include "engine/compile/plan_builder.h"

#include <algorithm>
#include <set>

#include "engine/compile/stage_builder.h"

namespace pipescope::compile {
namespace {

/// Tensors that cross between stages, hop by hop.
class BoundaryFinder {
 public:
  BoundaryFinder(const graph::Graph& graph, const std::map<std::string, int>& stageOf)
      : graph_(graph), stageOf_(stageOf) {}

  std::vector<StageBoundary> find() {
    for (const graph::Node& node : graph_.nodes()) {
      const int consumer = stageOf_.at(node.block);
      for (const graph::TensorId input : node.inputs) {
        if (!input.valid() || !graph_.tensor(input).producer.valid()) continue;
        const graph::Node& producer = graph_.node(graph_.tensor(input).producer);
        const int from = stageOf_.at(producer.block);
        if (producer.pass == node.pass && from != consumer) addHops(input, from, consumer, producer.pass);
        // A backward node that needs a forward value of another stage: that value is carried there in the
        // forward pass.
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
  const std::map<std::string, int>& stageOf_;
  std::set<std::tuple<graph::TensorId, int, int>> seen_;
  std::vector<StageBoundary> found_;
};

}  // namespace

base::Result<ExecutablePlan> buildPlan(const graph::Graph& graph, const std::vector<StageSpec>& stages,
                                       const PlanOptions& options, const ops::OperatorRegistry& registry) {
  PIPESCOPE_CHECK(options.stashEntries.size() == stages.size(), "a stash depth for each stage");
  const std::map<std::string, int> stageOf = stageOfBlocks(stages);
  const std::vector<StageBoundary> boundaries = BoundaryFinder(graph, stageOf).find();
  ExecutablePlan plan;
  plan.name = options.name;
  plan.kind = options.kind;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    StageBuilder builder(graph, stageOf, boundaries, options, registry, static_cast<int>(s));
    PIPESCOPE_ASSIGN(StagePlan stage, builder.build());
    stage.device = stages[s].device;
    stage.blocks = stages[s].blocks;
    plan.stages.push_back(std::move(stage));
  }
  for (const StageBoundary& b : boundaries) {
    const graph::Tensor& tensor = graph.tensor(b.tensor);
    plan.boundaries.push_back(
        {tensor.name, tensor.type, b.fromStage, b.toStage,
         b.pass == model::Pass::forward ? model::TransferKind::activation : model::TransferKind::gradient});
  }
  return plan;
}

}  // namespace pipescope::compile
