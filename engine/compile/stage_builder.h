#pragma once
// Builds the IR of one stage. Only ir_builder uses it.
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/compile/ir_builder.h"
#include "engine/compile/local_sums.h"

namespace pipescope::compile {

/// One hop of a tensor from a stage to a neighbour.
struct StageBoundary {
  graph::TensorId tensor;
  int fromStage = 0, toStage = 0;
  model::Pass pass = model::Pass::forward;
};

/// The stage of each node of a graph.
using StageOfNodes = base::IdVector<graph::NodeId, int>;

class StageBuilder {
  using Pass = model::Pass;
  using Holders = ops::Collective::Holders;

 public:
  StageBuilder(const graph::Graph& graph, const std::vector<PartialGradient>& partial,
               const std::vector<TiedWeight>& tied, const StageOfNodes& stageOf,
               const std::vector<StageBoundary>& boundaries, const IrOptions& options,
               const ops::OperatorRegistry& registry, int stage);
  base::Result<StageIr> build();

 private:
  bool training() const { return options_.kind == model::ExecutableKind::training; }
  bool stashes() const { return training() && options_.stashEntries[static_cast<std::size_t>(stage_)] > 0; }
  bool mine(const graph::Node& node) const { return stageOf_[node.id] == stage_; }

  IrTensorId add(std::string name, graph::TensorType type, TensorUse use, std::int64_t copies = 1);
  /// The stage's tensor for a value of the graph; it is made at the first use.
  IrTensorId tensorFor(graph::TensorId id);
  TensorUse constantUse(graph::TensorId id) const;
  std::int64_t copiesOf(TensorUse use) const;
  PassIr& pass(model::Pass kind);

  bool isParameter(graph::TensorId id) const;
  bool touchesParameter(const graph::Node& node) const;
  void markTrained(const graph::Node& node, std::vector<ops::Work>& work) const;
  base::Status addNode(const graph::Node& node, model::Pass kind);
  /// Adds the weight that a Float8Cast of a weight makes when it is loaded, in place of the operator.
  /// Adds what a cast makes of a weight, which stays on the device. An update of the weight casts it again.
  base::Status addPrepared(const graph::Node& cast);
  void addHostIn();
  base::Status addForward();
  /// The forward values that the recompute and backward passes read. They must be stashed.
  std::set<graph::TensorId> neededByBackward() const;
  void addStash(graph::TensorId id);
  /// Gives the value a ring in which the pass that makes it writes it at once. A view is kept by what it is a
  /// view of, so nothing is kept twice.
  void keepInPlace(graph::TensorId id, std::int64_t entries);
  /// Adds the copy of a stashed tensor out of its ring, unless it was added before. `again`: for an operator
  /// that is recomputed.
  void restoreBefore(IrTensorId tensor, Pass kind, bool again);
  /// Tensor that is kept between the uses of a value. The full value may have to be loaded or gathered first.
  struct Home {
    IrTensorId id;  ///< tensor that is kept
    bool remote = false, sharded = false;
    graph::TensorType type;  ///< type of what is kept, which is a share if it is sharded
  };
  /// The summed gradient of a parameter, and where it is kept.
  struct Gradient {
    Home home;
    graph::TensorId parameter;
    bool summed = false;  ///< already summed over replicas, into shares
  };
  Home makeHome(const std::string& name, const graph::TensorType& type, TensorUse use,
                const TensorLocation& location, Holders holders);
  graph::TensorType shareOf(const graph::TensorType& type, Holders holders) const;
  /// Chips that hold the same part of a parameter.
  Holders holders(const graph::Tensor& parameter) const;
  std::int64_t holdersOf(Holders holders) const;
  /// Loads the weights that nodes of the given passes read, and gathers them from all replicas.
  void fetchWeights(Pass kind, const std::set<Pass>& readers);
  bool gathersByBlock() const;
  void findBlocksWithWeights(Pass kind);
  /// Gathers the weights of the node's block, unless they are there, and those of the block behind it, so
  /// that they arrive while this one computes.
  void gatherBlockOf(const graph::Node& node, Pass kind);
  /// Loads and gathers these weights.
  void fetch(Pass kind, const std::set<graph::TensorId>& weights, const std::string& name);
  /// Adds a load from streaming memory or a store to it. It joins the copy before it.
  void addRemoteCopy(Pass kind, const std::string& name, bool toDevice, IrTensorId from, IrTensorId to);
  void addCollective(Pass kind, const std::string& name, ops::Collective::Kind what,
                     const std::vector<IrTensorId>& from, const std::vector<IrTensorId>& to,
                     graph::ElementType element, std::int64_t elements, Holders holders);
  base::Status addBackward();
  /// The backward nodes that serve only parameter gradients. No neighbour waits for them.
  std::set<graph::NodeId> weightGradientNodes() const;
  /// Adds rings for the inputs of postponed weight gradients, if several micro-batches wait at once.
  void addWeightStash(const std::set<graph::NodeId>& nodes);
  /// Adds a backward or recompute node to its pass, and the summation of the parameter gradient that it
  /// computes.
  base::Status addGradientNode(const graph::Node& node, model::Pass kind);
  /// Contributions of the node to the gradients of parameters.
  std::vector<PartialGradient> gradientsOf(const graph::Node& node) const;
  /// True if another stage at the same place adds to the same accumulator.
  bool isPartial(const PartialGradient& part) const;
  /// Adds a parameter's gradient to its accumulator.
  void addAccumulate(const PartialGradient& part, model::Pass kind);
  /// Sums a gradient over replicas, each of which keeps its share; `then` uses the share. Where collectives
  /// bundle gradients, that happens once a bundle is full, or in scatterPending().
  void scatterGradient(IrTensorId gradient, IrTensorId share, const graph::Tensor& parameter,
                       std::optional<IrOperator> then, Pass kind);
  void scatterPending(Pass kind);
  /// Adds what uses the shares of the last bundle.
  void addScattered(Pass kind);
  /// The collective that sums gradients of which each replica keeps its share.
  ops::Collective::Kind summing() const;
  bool updatesShare(const Gradient& gradient) const;
  /// Copies a narrow sum of gradients to float32 for the update.
  void addMainGradient(Gradient& gradient);
  void addNorms();
  void addUpdateOf(const Gradient& gradient);
  /// Adds the sums of gradients of tied weights over the places that have copies of them.
  void addTiedSums();
  /// Adds the sum of gradients over replicas.
  void addAllReduce();
  void addUpdate();
  void addHostOut();

  const graph::Graph& graph_;
  const std::vector<PartialGradient>& partial_;
  const std::vector<TiedWeight>& tied_;
  std::vector<PartialGradient> ofParameters_;  ///< whole gradients by parameter, then parts
  /// Index of each gradient in ofParameters_.
  std::unordered_map<graph::TensorId, std::vector<std::size_t>> places_;
  const StageOfNodes& stageOf_;
  const std::vector<StageBoundary>& boundaries_;
  const IrOptions& options_;
  const ops::OperatorRegistry& registry_;
  int stage_;
  StageIr ir_;
  std::vector<IrOperator> castAgain_;                  ///< casts of weights, which follow the update
  base::IdVector<graph::TensorId, IrTensorId> known_;  ///< invalid: the stage has no such tensor so far
  std::vector<Gradient> gradients_;                    ///< gradients in the order in which they are made
  /// Gradients of one type that wait for their common reduce-scatter, and what uses their shares.
  struct PendingScatter {
    graph::ElementType element{};
    Holders holders = Holders::all;
    std::vector<IrTensorId> gradients, shares;
    std::vector<IrOperator> then;
    std::int64_t elements = 0;
  };
  PendingScatter pending_;
  std::vector<IrOperator> scattered_;                ///< what uses the shares of the last bundle
  int scatters_ = 0;                                 ///< bundles so far
  std::set<std::pair<Pass, std::string>> gathered_;  ///< blocks whose weights are there
  struct BlockWeights {
    std::string block;
    std::set<graph::TensorId> weights;
  };
  std::map<Pass, std::vector<BlockWeights>> blocksOf_;  ///< blocks that read weights in a pass, in order
  std::map<graph::TensorId, Home> weightHomes_;  ///< homes of weights that may lie off the chip or in shares
  /// Weights of which a replica has updated only its share.
  std::map<std::pair<graph::ElementType, Holders>, std::vector<IrTensorId>> updatedShares_;
  std::map<graph::TensorId, IrTensorId> rings_;  ///< stashed values
  std::map<IrTensorId, IrOperator> restores_;    ///< copies out of rings that nothing has needed yet
};

}  // namespace pipescope::compile
