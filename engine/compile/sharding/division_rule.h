#pragma once
// Rules that say how an operator works on parts of its tensors. One file holds the rules of a group of
// operators: PIPESCOPE_REGISTER_DIVISION(file_name) { rules.add({...}); }; the build finds it.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/compile/sharding/expert_load.h"
#include "engine/graph/graph.h"
#include "profiler/model/enums.h"

namespace pipescope::compile {

/// The axis along which a tensor is divided over the ranks; kWhole: each rank holds all of it.
using DividedAxis = std::int64_t;
inline constexpr DividedAxis kWhole = -1;
/// Each rank has a summand of the tensor. Only ExpertCombine reads it, which sums fewer rows.
inline constexpr DividedAxis kSummand = -2;

/// A user's word on how ranks divide weights.
struct ShardRule {
  std::string weights;        ///< pattern (* and ?) of their names
  DividedAxis axis = kWhole;  ///< as the weight is stored; kWhole: every rank holds it whole
};

/// Ranks that share a model, along one axis of the mesh. Along `tensor` they divide tensors of the same
/// samples; along `context` each takes a part of the positions of every sample; along `expert` each takes
/// samples of its own, and they divide the experts.
struct DivisionOptions {
  std::int64_t ranks = 1;
  model::MeshAxis axis = model::MeshAxis::tensor;
  /// Results of sums are divided along their rows, and so is what is computed between the products (sequence
  /// parallelism, arXiv 2205.05198).
  bool sequence = false;
  /// Along the axis `tensor`: what is asked for; the first entry that names a weight counts.
  std::vector<ShardRule> shards = {};
  /// Smaller tables of embeddings are whole on every rank.
  std::int64_t leastTableRows = 512;
  /// Along the axis `expert`: how many tokens choose each expert.
  ExpertLoad expertLoad;
  /// Along the axis `context`: positions of a sample, of which each rank has a part.
  std::int64_t positions = 0;
  /// Along the axis `context`: attention divides heads instead of gathering keys and values.
  bool exchangesHeads = false;
  /// Along the axis `context`, where a model generates one token: the ranks divide the tokens of its caches
  /// of keys and values, and compute all else alike.
  bool caches = false;

  /// Each rank takes samples or tokens of its own. What all have whole is then weights, whose gradients are
  /// summed when they change, or constants.
  bool takesOwnTokens() const {
    return axis == model::MeshAxis::expert || (axis == model::MeshAxis::context && !caches);
  }
};

/// See DivisionCall::blocks().
std::int64_t blocksOf(const DivisionOptions& options, const graph::Shape& shape, DividedAxis axis);

/// A node with the division of its inputs.
struct DivisionCall {
  const graph::Graph& graph;  ///< undivided
  const graph::Node& node;
  std::vector<DividedAxis> inputs;  ///< present division of the inputs
  const DivisionOptions& options;
  const std::vector<std::vector<graph::NodeId>>& readers;  ///< nodes that read a tensor, by its id

  std::int64_t ranks() const { return options.ranks; }
  bool amongExperts() const { return options.axis == model::MeshAxis::expert; }
  /// Ranks have positions of their own.
  bool alongContext() const { return options.axis == model::MeshAxis::context && !options.caches; }
  bool has(std::size_t input) const { return input < node.inputs.size() && node.inputs[input].valid(); }
  const graph::Shape& shape(std::size_t input) const { return graph.tensor(node.inputs[input]).type.shape; }
  const graph::Shape& outputShape(std::size_t output = 0) const {
    return graph.tensor(node.outputs[output]).type.shape;
  }
  /// Equal blocks of an axis, each of which is divided: several samples whose positions are divided may lie
  /// on one axis.
  std::int64_t blocks(const graph::Shape& shape, DividedAxis axis) const;
  /// True if the ranks can take parts along the axis. The parts are equal, but for rows of experts.
  bool divides(const graph::Shape& shape, DividedAxis axis) const;
  /// The value of an input that is a constant of whole numbers. Nothing: it is none.
  std::optional<std::vector<std::int64_t>> numbers(std::size_t input) const;
};

/// Division of a node over the ranks.
struct NodeDivision {
  std::vector<DividedAxis> inputs;   ///< division that each input must have
  std::vector<DividedAxis> outputs;  ///< division that each output has then
  /// Each rank has one summand of every output.
  bool sums = false;
  /// The sum over the ranks is divided by their number: outputs are means.
  bool means = false;
  /// Outputs are whole, but each rank uses them for its own share of the work, so it has a part of their
  /// gradient. The gradient of the inputs is then summed instead.
  bool forShares = false;
  /// An input that is added once, after the sum, because it is no part of it; −1: none.
  int addedAfterSum = -1;
  graph::Attributes attributes = {};  ///< attributes that differ from those of the node
  /// Inputs that are constants and differ: the extents of a part, for example.
  std::map<std::size_t, std::vector<std::int64_t>> numbers = {};
  /// Several nodes stand for the node, because ranks need each other's results within it (rank_graph.cpp).
  enum class Special : std::uint8_t {
    none,
    embedding,
    crossEntropy,
    expertDispatch,
    expertCombine,
    routing,  ///< ExpertDispatch of tokens that ranks share out: they count choices together
    softmax   ///< along the divided axis
  } special = Special::none;
  std::int64_t rows = 0;  ///< Special::expertDispatch: rows that the rank with the most gets

  /// True if the ranks share the work, instead of doing all of it each.
  bool shares() const;
};

/// All inputs and outputs are whole: each rank does all of the work.
NodeDivision wholeDivision(const DivisionCall& call);

/// Returns the division of a node; nullopt if the operator cannot work on these parts.
using DivisionRule = std::optional<NodeDivision> (*)(const DivisionCall&);

class DivisionRules {
 public:
  void add(const std::string& op, DivisionRule rule) { rules_[op] = rule; }
  DivisionRule find(const std::string& op) const;

 private:
  std::map<std::string, DivisionRule> rules_;
};

/// Registers the rules of all groups of operators. The build generates this function.
void registerDivisionRules(DivisionRules& rules);
const DivisionRules& divisionRules();

/// A node whose input 1 is a weight in a product with input 0: its axes as they are stored.
struct ProductAxes {
  DividedAxis sumLeft, sumRight;  ///< axes of inputs 0 and 1 that are summed over
  DividedAxis right;              ///< axis of input 1 that becomes the last one of the output
};
/// Returns the axes of a product; nullopt if the node is no product of two tensors, or one with groups.
std::optional<ProductAxes> productAxes(const DivisionCall& call);

}  // namespace pipescope::compile

#define PIPESCOPE_REGISTER_DIVISION(name)        \
  void register_##name(DivisionRules& registry); \
  void register_##name(DivisionRules& registry)
