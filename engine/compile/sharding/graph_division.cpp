#include "engine/compile/sharding/graph_division.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "engine/compile/block_pattern.h"

namespace pipescope::compile {
namespace {

using graph::Node;
using graph::NodeId;
using graph::Tensor;
using graph::TensorId;

/// A larger tensor is not put together on every rank for a node that cannot work on parts of it.
constexpr std::int64_t kMostGathered = std::int64_t{1} << 28;

std::size_t at(TensorId id) {
  return static_cast<std::size_t>(id.value);
}

class Divider {
 public:
  Divider(const graph::Graph& forward, const DivisionOptions& options) : graph_(forward), options_(options) {
    result_.options = options;
    result_.tensors.assign(forward.tensors().size(), kWhole);
    readers_.resize(forward.tensors().size());
    for (const Node& node : forward.nodes())
      for (const TensorId input : node.inputs)
        if (input.valid()) readers_[at(input)].push_back(node.id);
    readWhole_.assign(forward.tensors().size(), false);
    for (const TensorId id : forward.outputs) readWhole_[at(id)] = true;
  }

  base::Result<GraphDivision> run() {
    const bool amongExperts = options_.axis == model::MeshAxis::expert;
    const bool alongContext = options_.axis == model::MeshAxis::context && !options_.caches;
    if (amongExperts) PIPESCOPE_TRY(checkExperts());
    if (alongContext) PIPESCOPE_TRY(dividePositions());
    for (const Node& node : graph_.nodes()) {
      if (options_.caches)
        divideCache(node);
      else if (!alongContext)
        amongExperts ? divideExperts(node) : divideWeights(node);
      PIPESCOPE_TRY(divide(node));
    }
    PIPESCOPE_TRY(checkShards());
    if (options_.caches) PIPESCOPE_TRY(checkCaches());
    if (alongContext && graph_.loss) PIPESCOPE_TRY(checkOwnPositions());
    return std::move(result_);
  }

 private:
  /// Divisions that are tried out.
  using Tried = std::map<TensorId, DividedAxis>;

  DividedAxis partOf(TensorId id, const Tried& tried) const {
    const auto found = tried.find(id);
    return found != tried.end() ? found->second : result_.tensors[at(id)];
  }

  DivisionCall callOf(const Node& node, const Tried& tried) const {
    DivisionCall call{graph_, node, {}, options_, readers_};
    for (const TensorId input : node.inputs)
      call.inputs.push_back(input.valid() ? partOf(input, tried) : kWhole);
    return call;
  }

  std::optional<NodeDivision> divisionOf(const DivisionCall& call) const {
    const DivisionRule rule = divisionRules().find(call.node.op);
    if (rule == nullptr) return std::nullopt;
    std::optional<NodeDivision> division = rule(call);
    if (division) division->outputs.resize(call.node.outputs.size(), kWhole);
    return division;
  }

  bool isWeight(TensorId id) const {
    return id.valid() && graph_.tensor(id).role == graph::TensorRole::parameter;
  }

  /// True for what a rank may hold a part of: weights, and what is kept or streamed in without a value that
  /// the graph holds, such as a cache of keys and values.
  bool isStored(TensorId id) const {
    const Tensor& tensor = graph_.tensor(id);
    return !tensor.producer.valid() && (isWeight(id) || graph_.constant(id) == nullptr);
  }

  /// Divides the inputs along their positions: samples × positions × …, or rows of all samples.
  base::Status dividePositions() {
    if (options_.positions % options_.ranks != 0)
      return base::badInput(
          fmt::format("A sample has {} positions, which do not divide by the {} ranks of "
                      "execution.context_parallel: choose "
                      "a divisor, or another length.",
                      options_.positions, options_.ranks));
    for (const TensorId input : graph_.inputs) {
      const graph::Shape& shape = graph_.tensor(input).type.shape;
      if (shape.size() > 1 && shape[1] == options_.positions) {
        setPart(input, 1);
      } else if (!shape.empty() && shape[0] % options_.positions == 0) {
        setPart(input, 0);
      }
    }
    return {};
  }

  /// Divides the tokens of a cache that is the right factor of a product: keys by columns of the scores,
  /// which go into a softmax, and values by rows.
  void divideCache(const Node& node) {
    if (node.op != "MatMul" || isWeight(node.inputs[1]) || !isStored(node.inputs[1])) return;
    const DivisionCall call = callOf(node, {});
    const std::optional<ProductAxes> axes = productAxes(call);
    if (!axes || call.inputs[1] != kWhole) return;
    if (call.inputs[0] == axes->sumLeft) {
      setPart(node.inputs[1], axes->sumRight);
      return;
    }
    const std::vector<NodeId>& readers = readers_[at(node.outputs[0])];
    const bool scores = readers.size() == 1 && graph_.node(readers[0]).op == "Softmax";
    if (scores && call.inputs[0] == kWhole && call.divides(call.shape(1), axes->right))
      setPart(node.inputs[1], axes->right);
  }

  base::Status checkCaches() const {
    for (const Tensor& tensor : graph_.tensors())
      if (isStored(tensor.id) && result_.of(tensor.id) != kWhole) return {};
    return base::badInput(fmt::format(
        "execution.context_parallel divides the tokens of caches where a model generates one token at a "
        "time, but no cache of keys and values on the devices has a number of tokens, the new one included, "
        "that divides by {} ranks: choose model.cache so that one more divides, or leave it out.",
        options_.ranks));
  }

  static bool hasGradient(const Tensor& tensor) {
    using graph::ElementType;
    const ElementType element = tensor.type.element;
    return element == ElementType::float32 || element == ElementType::float64 ||
           element == ElementType::float16 || element == ElementType::bfloat16;
  }

  /// Gradients of weights are summed over ranks, so each rank must add only what its own positions give. An
  /// operator that all ranks compute alike on gathered positions, or with a weight, would count several
  /// times.
  base::Status checkOwnPositions() const {
    enum class From : std::uint8_t { nothing, weights, positions };
    std::vector<From> from(graph_.tensors().size(), From::nothing);
    for (const Node& node : graph_.nodes()) {
      const NodeDivision& own = result_.of(node);
      bool weights = false, positions = false, gathers = false;
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        const TensorId input = node.inputs[i];
        if (!input.valid()) continue;
        weights = weights || isWeight(input) || from[at(input)] == From::weights;
        positions = positions || from[at(input)] == From::positions;
        gathers = gathers || (from[at(input)] == From::positions && result_.of(input) != kWhole &&
                              own.inputs[i] == kWhole);
      }
      const bool alike = !own.shares();
      if (alike && (gathers || (weights && positions)))
        return base::badInput(fmt::format(
            "{} {} works on all positions at once, so ranks cannot train it with positions of their own: "
            "leave "
            "execution.context_parallel out, or use a model whose every operator works by position.",
            node.op, node.name));
      if (!weights && !positions) continue;
      for (const TensorId output : node.outputs)
        if (output.valid() && hasGradient(graph_.tensor(output)))
          from[at(output)] = alike && !positions ? From::weights : From::positions;
    }
    return {};
  }

  base::Status checkExperts() const {
    std::size_t layers = 0;
    for (const Node& node : graph_.nodes()) {
      if (node.op != "ExpertDispatch") continue;
      const std::int64_t experts = graph::intAttribute(node, "experts", 0);
      if (experts % options_.ranks != 0)
        return base::badInput(fmt::format(
            "{} has {} experts, which do not divide by the {} ranks of execution.expert_parallel: choose a "
            "divisor of {}.",
            node.name, experts, options_.ranks, experts));
      PIPESCOPE_TRY(options_.expertLoad.shares(experts, layers++));
    }
    if (layers > 0) return {};
    return base::badInput(
        "execution.expert_parallel divides experts among chips, but the model has none: leave it out, or "
        "choose "
        "a model with experts (model.experts of the builder decoder).");
  }

  /// True if ranks divide all products of what experts get. Decides about their weights.
  bool dividesProductsOf(const Node& dispatch) {
    if (dispatch.op != "ExpertDispatch" || options_.axis != model::MeshAxis::tensor) return false;
    const std::vector<NodeId>& readers = readers_[at(dispatch.outputs[0])];
    for (const NodeId reader : readers) {
      const Node& product = graph_.node(reader);
      if (product.op != "ExpertProduct" || product.inputs[0] != dispatch.outputs[0]) return false;
      divideWeights(product);
      if (result_.tensors[at(product.inputs[1])] == kWhole) return false;
    }
    return !readers.empty();
  }

  void divideExperts(const Node& node) {
    if (node.op == "ExpertProduct") setPart(node.inputs[1], 0);
  }

  /// The axes of a product whose weight is its second factor.
  std::optional<ProductAxes> axesOfWeight(const DivisionCall& call) const {
    const Node& node = call.node;
    if (node.inputs.size() < 2 || !isWeight(node.inputs[1])) return std::nullopt;
    if (node.op == "ExpertProduct") return ProductAxes{1, 2, 1};
    if (node.op != "MatMul" && node.op != "Gemm") return std::nullopt;
    return productAxes(call);
  }

  /// The weight of a node of the model: a table of embeddings, or the second factor of a product.
  TensorId weightOf(const Node& node) const {
    for (const TensorId input : node.inputs)
      if (isWeight(input) && graph_.tensor(input).type.shape.size() > 1) return input;
    return {};
  }

  /// Divides the weight of a node as the user says. False: nobody says anything of it.
  bool divideAsAsked(const Node& node) {
    const TensorId weight = weightOf(node);
    if (!weight.valid()) return false;
    const graph::Tensor& tensor = graph_.tensor(weight);
    for (std::size_t i = 0; i < options_.shards.size(); ++i) {
      const ShardRule& rule = options_.shards[i];
      if (!namesBlock(rule.weights, tensor.name)) continue;
      matched_.insert(i);
      // Later entries with other patterns are more general; one with the same pattern asks for both axes.
      for (std::size_t j = i + 1; j < options_.shards.size(); ++j) {
        if (options_.shards[j].weights != rule.weights) continue;
        matched_.insert(j);
        if (options_.shards[j].axis == rule.axis) continue;
        refusal_ = base::badInput(fmt::format(
            "[[model.shard]] divides {} along the axes {} and {}. Ranks divide a weight along one axis: "
            "leave "
            "one entry out, and divide the other axis among replicas with execution.shard_weights.",
            rule.weights, rule.axis, options_.shards[j].axis));
        return true;
      }
      if (rule.axis == kWhole) {
        readWhole_[at(weight)] = true;
        return true;
      }
      const auto rank = static_cast<DividedAxis>(tensor.type.shape.size());
      if (rule.axis >= rank || !callOf(node, {}).divides(tensor.type.shape, rule.axis)) {
        refusal_ =
            base::badInput(fmt::format("[[model.shard]] divides {} along axis {}, but the weight has the "
                                       "shape {} and there are {} ranks: choose "
                                       "an axis that divides by them.",
                                       tensor.name, rule.axis, graph::toString(tensor.type), options_.ranks));
        return true;
      }
      setPart(weight, rule.axis);
      return true;
    }
    return false;
  }

  base::Status checkShards() const {
    if (!refusal_.ok()) return refusal_;
    for (std::size_t i = 0; i < options_.shards.size(); ++i) {
      if (matched_.contains(i)) continue;
      return base::badInput(fmt::format(
          "[[model.shard]] names \"{}\", but no weight of a product or of embeddings is called so: "
          "`pipescope report --section sharding` lists them.",
          options_.shards[i].weights));
    }
    return {};
  }

  void divideWeights(const Node& node) {
    if (divideAsAsked(node)) return;
    const DivisionCall call = callOf(node, {});
    if (node.op == "Gather" && isWeight(node.inputs[0]) && call.inputs[0] == kWhole &&
        graph::intAttribute(node, "axis", 0) == 0) {
      const graph::Shape& table = call.shape(0);
      if (table.front() >= options_.leastTableRows && call.divides(table, 0)) setPart(node.inputs[0], 0);
      return;
    }
    const std::optional<ProductAxes> axes = axesOfWeight(call);
    if (!axes || call.inputs[1] != kWhole) return;
    if (call.inputs[0] == axes->sumLeft) {
      if (call.divides(call.shape(1), axes->sumRight)) setPart(node.inputs[1], axes->sumRight);
      return;
    }
    // Rows that are divided for the work between products are put together before a product.
    const bool rows = options_.sequence && call.inputs[0] == 0;
    if ((call.inputs[0] != kWhole && !rows) || !call.divides(call.shape(1), axes->right)) return;
    if (endsWell(node, *axes)) setPart(node.inputs[1], axes->right);
  }

  /// True if a weight that is divided by columns finds partners: everything that reads the parts of the
  /// result works on parts, until each of them has become a sum, a loss or an output of the model. A sum that
  /// is wider than what both of its products read is no good end: behind a low-rank projection it costs more
  /// than it saves, and the wide product makes a better beginning.
  bool endsWell(const Node& product, const ProductAxes& axes) const {
    Tried tried{{product.inputs[1], axes.right}, {product.inputs[0], kWhole}};
    const std::int64_t read = extentOf(callOf(product, {}), axes.sumRight);
    std::set<NodeId> open{product.id};
    while (!open.empty()) {
      const Node& node = graph_.node(*open.begin());
      open.erase(open.begin());
      DivisionCall call = callOf(node, tried);
      if (const auto own = axesOfWeight(call);
          own && call.inputs[1] == kWhole && call.inputs[0] == own->sumLeft && call.inputs[0] != kWhole) {
        const std::int64_t made = extentOf(call, own->right);
        if (made > read && made > extentOf(call, own->sumRight)) return false;
        call.inputs[1] = own->sumRight;
      }
      const std::optional<NodeDivision> division = divisionOf(call);
      if (!division && endsModel(node)) continue;
      if (!division) return false;
      for (std::size_t i = 0; i < call.inputs.size(); ++i) {
        // Rows that are divided for the work between products may be put together here, too: the weights
        // with which the results of experts are combined.
        const bool rows = options_.sequence && call.inputs[i] == 0 && division->inputs[i] == kWhole &&
                          node.inputs[i].valid() && !tried.contains(node.inputs[i]);
        if (call.inputs[i] != kWhole && division->inputs[i] != call.inputs[i] && !rows) return false;
      }
      if (division->sums || division->special != NodeDivision::Special::none) continue;
      for (std::size_t o = 0; o < node.outputs.size(); ++o) {
        if (!node.outputs[o].valid() || division->outputs[o] == kWhole) continue;
        tried[node.outputs[o]] = division->outputs[o];
        for (const NodeId reader : readers_[at(node.outputs[o])]) open.insert(reader);
      }
    }
    return true;
  }

  static std::int64_t extentOf(const DivisionCall& product, DividedAxis ofWeight) {
    return product.shape(1)[static_cast<std::size_t>(ofWeight)];
  }

  /// True for a node whose results are only outputs of the model, and whose input may be put together for it.
  bool endsModel(const Node& node) const {
    return std::ranges::all_of(node.outputs,
                               [&](TensorId id) { return !id.valid() || readers_[at(id)].empty(); }) &&
           std::ranges::all_of(node.inputs, [&](TensorId id) {
             return !id.valid() || graph_.tensor(id).type.elements() <= kMostGathered;
           });
  }

  void setPart(TensorId id, DividedAxis axis) { result_.tensors[at(id)] = axis; }

  /// The axis of rows along which a sum is divided; kWhole: it is whole.
  DividedAxis rowsOf(const graph::Shape& shape) const {
    if (!options_.sequence || shape.size() < 2) return kWhole;
    if (shape[0] % options_.ranks == 0) return 0;
    return shape.size() > 2 && shape[1] % options_.ranks == 0 ? 1 : kWhole;
  }

  base::Status divide(const Node& node) {
    const DivisionCall call = callOf(node, {});
    std::optional<NodeDivision> division = divisionOf(call);
    if (!division) {
      division.emplace();
      division->inputs.assign(node.inputs.size(), kWhole);
      division->outputs.assign(node.outputs.size(), kWhole);
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        if (call.inputs[i] == kWhole) continue;
        if (graph_.tensor(node.inputs[i]).type.elements() > kMostGathered)
          return base::badInput(fmt::format(
              "{} {} cannot work on a part of {}, which {} ranks share, and it is too large to be held whole "
              "by each of them: leave execution.{}_parallel out, or divide the model so that it is whole "
              "there.",
              node.op, node.name, graph_.tensor(node.inputs[i]).name, options_.ranks,
              model::toString(options_.axis)));
      }
      if (std::ranges::any_of(call.inputs, [](DividedAxis axis) { return axis != kWhole; }))
        result_.gathering.push_back(node.id);
    }
    if (dividesProductsOf(node)) {
      division->forShares = true;
      result_.forShares.insert(node.outputs[0]);
    }
    // A weight or a cache is stored as the first node that reads it needs it.
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (!node.inputs[i].valid()) continue;
      const std::size_t input = at(node.inputs[i]);
      if (division->inputs[i] == kWhole) readWhole_[input] = true;
      if (division->inputs[i] != kWhole && call.inputs[i] == kWhole && isStored(node.inputs[i]) &&
          !readWhole_[input] && options_.axis != model::MeshAxis::context)
        setPart(node.inputs[i], division->inputs[i]);
    }
    for (std::size_t o = 0; o < node.outputs.size(); ++o) {
      if (!node.outputs[o].valid()) continue;
      if (division->sums || division->special == NodeDivision::Special::embedding)
        division->outputs[o] = rowsOf(call.outputShape(o));
      setPart(node.outputs[o], division->outputs[o]);
    }
    result_.nodes.push_back(std::move(*division));
    return {};
  }

  const graph::Graph& graph_;
  const DivisionOptions& options_;
  GraphDivision result_;
  std::vector<std::vector<NodeId>> readers_;
  /// True for a tensor that an earlier node, or whoever takes the outputs, reads whole.
  std::vector<bool> readWhole_;
  std::set<std::size_t> matched_;  ///< entries of DivisionOptions::shards that name a weight
  base::Status refusal_;
};

}  // namespace

std::int64_t tokenPositions(const graph::Graph& forward) {
  for (const TensorId input : forward.inputs) {
    const graph::TensorType& type = forward.tensor(input).type;
    const bool whole = type.element == graph::ElementType::int32 || type.element == graph::ElementType::int64;
    if (whole && type.shape.size() == 2) return type.shape[1];
  }
  return 0;
}

base::Result<GraphDivision> divideGraph(const graph::Graph& forward, const DivisionOptions& options) {
  if (options.ranks < 1)
    return base::badInput(fmt::format("A model over {} ranks; give at least 1.", options.ranks));
  return Divider(forward, options).run();
}

}  // namespace pipescope::compile
