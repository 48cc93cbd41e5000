#pragma once
// Builds the plan of one stage; used by plan_builder only.
#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/compile/plan_builder.h"

namespace pipescope::compile {

/// One hop of a tensor from a stage to a neighbour.
struct StageBoundary {
  graph::TensorId tensor;
  int fromStage = 0, toStage = 0;
  model::Pass pass = model::Pass::forward;
};

class StageBuilder {
 public:
  StageBuilder(const graph::Graph& graph, const std::map<std::string, int>& stageOf,
               const std::vector<StageBoundary>& boundaries, const PlanOptions& options,
               const ops::OperatorRegistry& registry, int stage);
  base::Result<StagePlan> build();

 private:
  bool training() const { return options_.kind == model::ExecutableKind::training; }
  bool stashes() const { return training() && options_.stashEntries[static_cast<std::size_t>(stage_)] > 0; }
  bool mine(const graph::Node& node) const { return stageOf_.at(node.block) == stage_; }

  PlanTensorId add(std::string name, graph::TensorType type, TensorUse use, std::int64_t copies = 1);
  /// The stage's tensor for a value of the graph, made at first use.
  PlanTensorId tensorFor(graph::TensorId id);
  PassPlan& pass(model::Pass kind);

  bool touchesParameter(const graph::Node& node) const;
  base::Status addNode(const graph::Node& node, model::Pass kind);
  void addHostIn();
  base::Status addForward();
  /// Forward values that the backward pass reads: what must be stashed or recomputed.
  std::set<graph::TensorId> neededByBackward() const;
  void addStash(graph::TensorId id);
  base::Status addRecompute(const std::set<graph::TensorId>& needed);
  base::Status addBackward();
  /// Backward nodes that only parameter gradients come of: weight-gradient work, which no neighbour waits
  /// for.
  std::set<graph::NodeId> weightGradientNodes() const;
  /// Rings for what put-off weight gradients read, where several micro-batches wait for them at once.
  void addWeightStash(const std::set<graph::NodeId>& nodes);
  /// A backward node in its pass, and the sum of the parameter gradient that it makes.
  base::Status addGradientNode(const graph::Node& node, model::Pass kind);
  void addUpdate();
  void addHostOut();

  const graph::Graph& graph_;
  const std::map<std::string, int>& stageOf_;
  const std::vector<StageBoundary>& boundaries_;
  const PlanOptions& options_;
  const ops::OperatorRegistry& registry_;
  int stage_;
  StagePlan plan_;
  std::map<graph::TensorId, PlanTensorId> known_;
  std::map<graph::TensorId, PlanTensorId> accumulators_;  ///< by parameter
  std::map<graph::TensorId, PlanTensorId> rings_;         ///< stashed values
};

}  // namespace pipescope::compile
