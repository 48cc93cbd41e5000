#include "engine/compile/sharding/rank_graph.h"

#include <algorithm>
#include <map>
#include <span>
#include <tuple>

#include "engine/compile/graph_rewriter.h"
#include "engine/ops/core/half.h"
#include "engine/ops/ranks/ranks.h"

namespace pipescope::compile {
namespace {

using base::Result;
using base::Status;
using graph::ElementType;
using graph::Node;
using graph::Tensor;
using graph::TensorId;

bool isReal(ElementType element) {
  return element == ElementType::float16 || element == ElementType::bfloat16 ||
         element == ElementType::float32 || element == ElementType::float64;
}

/// Tensors through which gradients of weights flow.
std::vector<bool> tensorsWithGradients(const graph::Graph& forward) {
  std::vector<bool> with(forward.tensors().size(), false);
  if (!forward.loss) return with;
  for (const Tensor& tensor : forward.tensors())
    with[static_cast<std::size_t>(tensor.id.value)] = tensor.role == graph::TensorRole::parameter;
  for (const Node& node : forward.nodes()) {
    const bool any = std::ranges::any_of(node.inputs, [&](TensorId input) {
      return input.valid() && with[static_cast<std::size_t>(input.value)];
    });
    for (const TensorId output : node.outputs)
      if (output.valid())
        with[static_cast<std::size_t>(output.value)] = any && isReal(forward.tensor(output).type.element);
  }
  return with;
}

class RankGraph : public GraphRewriter {
 public:
  RankGraph(const graph::Graph& source, const GraphDivision& division, const ops::OperatorRegistry& registry)
      : GraphRewriter(source, registry), division_(division), withGradient_(tensorsWithGradients(source)) {}

 protected:
  Result<TensorId> copyRoot(const Tensor& tensor) override {
    const DividedAxis axis = division_.of(tensor.id);
    if (axis == kWhole) return GraphRewriter::copyRoot(tensor);
    graph::TensorType type = tensor.type;
    type.shape[static_cast<std::size_t>(axis)] /= ranks();
    if (tensor.role == graph::TensorRole::parameter) return result_.addParameter(tensor.name, type, {});
    return result_.addTensor(tensor.name, type, tensor.role);
  }

  Status copyNode(const Node& node) override {
    const NodeDivision& own = division_.of(node);
    if (own.special == NodeDivision::Special::embedding) return embed(node, own);
    if (own.special == NodeDivision::Special::crossEntropy) return crossEntropy(node, own);
    if (own.special == NodeDivision::Special::softmax) return softmax(node, own);
    if (own.special == NodeDivision::Special::routing) return routeOwnTokens(node, own);
    if (own.special == NodeDivision::Special::expertDispatch) return sendToExperts(node, own);
    if (own.special == NodeDivision::Special::expertCombine) return returnFromExperts(node);
    const bool shares = own.shares();
    Node copy = node;
    for (const auto& [name, value] : own.attributes) copy.attributes[name] = value;
    std::vector<TensorId> inputs;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (static_cast<int>(i) == own.addedAfterSum) continue;
      if (const auto numbers = own.numbers.find(i); numbers != own.numbers.end()) {
        inputs.push_back(wholeNumbers(node, numbers->second));
        continue;
      }
      PIPESCOPE_ASSIGN(const TensorId input, part(node, node.inputs[i], own.inputs[i], shares));
      inputs.push_back(input);
    }
    PIPESCOPE_TRY(appendCopy(std::move(copy), std::move(inputs)));
    if (!own.sums) return {};
    for (std::size_t o = 0; o < node.outputs.size(); ++o) {
      if (!node.outputs[o].valid()) continue;
      PIPESCOPE_ASSIGN(TensorId sum, summed(node, node.outputs[o], of(node.outputs[o]), own.outputs[o]));
      if (own.means) {
        const TensorId share =
            number(node, "share", 1.0 / static_cast<double>(ranks()), result_.tensor(sum).type.element);
        PIPESCOPE_ASSIGN(sum, add(node, nameOf("mean"), "Mul", {sum, share}, {}));
      }
      if (own.addedAfterSum >= 0) {
        const TensorId added = node.inputs[static_cast<std::size_t>(own.addedAfterSum)];
        // Rows of the sum that ranks share get gradients of their own rows only.
        PIPESCOPE_ASSIGN(const TensorId whole, part(node, added, kWhole, own.outputs[o] != kWhole));
        PIPESCOPE_ASSIGN(sum, add(node, "bias", "Add", {sum, whole}, {}));
      }
      became(node.outputs[o], sum);
    }
    return {};
  }

  Status finish() override {
    // Outputs and the loss are whole.
    for (std::size_t i = 0; i < source_.outputs.size(); ++i) {
      const TensorId old = source_.outputs[i];
      const graph::NodeId producer = source_.tensor(old).producer;
      if (division_.of(old) == kWhole || !producer.valid()) continue;
      PIPESCOPE_ASSIGN(result_.outputs[i], part(source_.node(producer), old, kWhole, false));
    }
    return {};
  }

 private:
  std::int64_t ranks() const { return division_.options.ranks; }
  /// A suffix that no division along another axis uses.
  std::string nameOf(const std::string& what) const { return (prefix_.empty() ? "rank_" : prefix_) + what; }
  graph::Attributes attributes() const {
    return {{ops::kRanks, ranks()}, {ops::kMeshAxis, model::toString(division_.options.axis)}};
  }
  /// Attributes of an exchange along an axis of a whole tensor.
  graph::Attributes attributes(const graph::Shape& whole, DividedAxis axis) const {
    graph::Attributes all = attributes();
    all["axis"] = axis;
    if (const std::int64_t blocks = blocksOf(division_.options, whole, axis); blocks > 1)
      all["blocks"] = blocks;
    return all;
  }

  /// The tensor as a node needs it. `shares`: the ranks share the work of the node, so that each has only its
  /// part of the gradient of what is whole.
  Result<TensorId> part(const Node& node, TensorId old, DividedAxis wanted, bool shares) {
    if (!old.valid()) return old;
    const DividedAxis now = division_.of(old);
    // Ranks with samples of their own have whole gradients of these, which are summed when weights change.
    const bool differentiable =
        withGradient_[static_cast<std::size_t>(old.value)] && !division_.options.takesOwnTokens();
    if (now == wanted &&
        (wanted != kWhole || !shares || !differentiable || division_.forShares.contains(old)))
      return of(old);
    const auto [made, isNew] = parts_.try_emplace({old, wanted, shares});
    if (!isNew) return made->second;
    TensorId result = of(old);
    const std::string name = source_.tensor(old).name;
    const auto convert = [&](const char* op, graph::Attributes with) -> Status {
      Node added;
      added.op = op;
      added.name = name + "/" + prefix_ + op + (parts_.size() > 1 ? std::to_string(parts_.size()) : "");
      added.block = node.block;
      added.pass = node.pass;
      added.inputs = {result};
      added.attributes = std::move(with);
      const std::string output = added.name + "/out";
      PIPESCOPE_ASSIGN(
          const std::vector<TensorId> outputs,
          ops::appendNode(result_, std::move(added), {output}, graph::TensorRole::activation, registry_));
      result = outputs[0];
      return {};
    };
    const graph::Shape& whole = source_.tensor(old).type.shape;
    if (now == wanted) {
      PIPESCOPE_TRY(convert("RankCopy", attributes()));
    } else if (now != kWhole && wanted != kWhole) {
      graph::Attributes with = attributes(whole, now);
      const graph::Attributes to = attributes(whole, wanted);
      with["to_axis"] = wanted;
      if (to.contains("blocks")) with["to_blocks"] = to.at("blocks");
      PIPESCOPE_TRY(convert("RankExchange", std::move(with)));
    } else if (now != kWhole) {
      graph::Attributes with = attributes(whole, now);
      if (shares || division_.options.takesOwnTokens()) with["sums"] = std::int64_t{1};
      PIPESCOPE_TRY(convert("RankGather", std::move(with)));
    } else {
      graph::Attributes with = attributes(whole, wanted);
      // A constant is cut when the program is loaded.
      if (!source_.tensor(old).producer.valid() && !withGradient_[static_cast<std::size_t>(old.value)])
        with["stored"] = std::int64_t{1};
      if (division_.options.takesOwnTokens()) with["alone"] = std::int64_t{1};
      PIPESCOPE_TRY(convert("RankSlice", std::move(with)));
    }
    parts_[{old, wanted, shares}] = result;
    return result;
  }

  Result<TensorId> summed(const Node& node, TensorId old, TensorId summand, DividedAxis axis) {
    if (axis == kWhole) return add(node, nameOf("sum"), "RankSum", {summand}, attributes());
    return add(node, nameOf("sum"), "RankScatterSum", {summand},
               attributes(source_.tensor(old).type.shape, axis));
  }

  TensorId wholeNumbers(const Node& node, const std::vector<std::int64_t>& values) {
    const auto bytes = std::as_bytes(std::span(values));
    return result_.addConstant(node.name + "/of_rank" + std::to_string(++constants_),
                               {ElementType::int64, {static_cast<std::int64_t>(values.size())}},
                               {bytes.begin(), bytes.end()});
  }

  /// A scalar of a type of real numbers or of int64.
  TensorId number(const Node& node, const std::string& name, double value, ElementType element) {
    const std::string unique = node.name + "/" + name + std::to_string(++constants_);
    const auto scalar = [&](auto own) {
      const auto bytes = std::as_bytes(std::span(&own, 1));
      return result_.addConstant(unique, {element, {}}, {bytes.begin(), bytes.end()});
    };
    if (element == ElementType::float64) return scalar(value);
    if (element == ElementType::int64) return scalar(static_cast<std::int64_t>(value));
    if (element == ElementType::float32) return scalar(static_cast<float>(value));
    if (element == ElementType::bfloat16) {
      ops::BFloat16 narrow;
      ops::narrow(static_cast<float>(value), narrow);
      return scalar(narrow);
    }
    ops::Float16 narrow;
    ops::narrow(static_cast<float>(value), narrow);
    return scalar(narrow);
  }

  /// Numbers of rows counted from the first one of the rank, and whether the rank has them; others count as
  /// 0.
  struct LocalRows {
    TensorId index, inside;
  };
  Result<LocalRows> localRows(const Node& node, TensorId rows, std::int64_t ofRank) {
    PIPESCOPE_ASSIGN(const TensorId rank, add(node, "rank", "RankIndex", {}, attributes()));
    const TensorId count = number(node, "rows", static_cast<double>(ofRank), ElementType::int64),
                   zero = number(node, "zero", 0, ElementType::int64);
    PIPESCOPE_ASSIGN(const TensorId first, add(node, "first_row", "Mul", {rank, count}, {}));
    TensorId wide = rows;
    if (result_.tensor(rows).type.element != ElementType::int64) {
      constexpr std::int64_t kInt64 = 7;  // ONNX's number of the type
      PIPESCOPE_ASSIGN(wide, add(node, "wide_rows", "Cast", {rows}, {{"to", kInt64}}));
    }
    PIPESCOPE_ASSIGN(const TensorId local, add(node, "local_rows", "Sub", {wide, first}, {}));
    PIPESCOPE_ASSIGN(const TensorId notBefore, add(node, "not_before", "GreaterOrEqual", {local, zero}, {}));
    PIPESCOPE_ASSIGN(const TensorId notBehind, add(node, "not_behind", "Less", {local, count}, {}));
    LocalRows found;
    PIPESCOPE_ASSIGN(found.inside, add(node, "inside", "And", {notBefore, notBehind}, {}));
    PIPESCOPE_ASSIGN(found.index, add(node, "index", "Where", {found.inside, local, zero}, {}));
    return found;
  }

  Result<TensorId> unsqueezed(const Node& node, const std::string& name, TensorId tensor, std::size_t rank) {
    graph::Shape shape = result_.tensor(tensor).type.shape;
    shape.resize(rank, 1);
    return add(node, name, "Reshape", {tensor, wholeNumbers(node, shape)}, {});
  }

  /// Each rank picks the rows that it has; the sum over the ranks is the result.
  Status embed(const Node& node, const NodeDivision& own) {
    const TensorId table = of(node.inputs[0]);
    const graph::TensorType type = result_.tensor(table).type;
    PIPESCOPE_ASSIGN(const TensorId rows, part(node, node.inputs[1], kWhole, true));
    PIPESCOPE_ASSIGN(const LocalRows local, localRows(node, rows, type.shape.front()));
    PIPESCOPE_ASSIGN(const TensorId picked,
                     add(node, "picked", "Gather", {table, local.index}, node.attributes));
    PIPESCOPE_ASSIGN(const TensorId mask,
                     unsqueezed(node, "mask", local.inside, result_.tensor(picked).type.shape.size()));
    PIPESCOPE_ASSIGN(
        const TensorId summand,
        add(node, "own_rows", "Where", {mask, picked, number(node, "nothing", 0, type.element)}, {}));
    PIPESCOPE_ASSIGN(const TensorId sum, summed(node, node.outputs[0], summand, own.outputs[0]));
    became(node.outputs[0], sum);
    return {};
  }

  /// The loss that balances experts looks at the choices of all tokens.
  Status routeOwnTokens(const Node& node, const NodeDivision& own) {
    std::vector<TensorId> inputs;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      PIPESCOPE_ASSIGN(const TensorId input, part(node, node.inputs[i], own.inputs[i], true));
      inputs.push_back(input);
    }
    PIPESCOPE_TRY(appendCopy(Node(node), std::move(inputs)));
    if (node.outputs.size() < 4 || !node.outputs[3].valid()) return {};
    PIPESCOPE_ASSIGN(const TensorId chosen,
                     add(node, "chosen", "RankSum", {of(node.outputs[3])}, attributes()));
    became(node.outputs[3], chosen);
    return {};
  }

  /// The rank's rows go to the ranks that hold their experts.
  Status sendToExperts(const Node& node, const NodeDivision& own) {
    PIPESCOPE_TRY(appendCopy(Node(node), {of(node.inputs[0]), of(node.inputs[1])}));
    const TensorId rows = of(node.outputs[0]), counts = of(node.outputs[1]);
    graph::Attributes with = attributes();
    with["experts"] = graph::intAttribute(node, "experts", 0);
    with["choices"] = source_.tensor(node.inputs[1]).type.shape[1];
    for (const char* name : {"groups", "group_choices"}) with[name] = graph::intAttribute(node, name, 1);
    sent_[node.outputs[2]] = {counts, result_.tensor(rows).type.shape[0], with};
    with["rows"] = own.rows;
    Node scatter;
    scatter.op = "RankScatterExperts";
    scatter.name = node.name + "/to_experts";
    scatter.block = node.block;
    scatter.pass = node.pass;
    scatter.inputs = {rows, counts};
    scatter.attributes = std::move(with);
    const std::vector<std::string> names{scatter.name + "/rows", scatter.name + "/counts"};
    PIPESCOPE_ASSIGN(
        const std::vector<TensorId> arrived,
        ops::appendNode(result_, std::move(scatter), names, graph::TensorRole::activation, registry_));
    became(node.outputs[0], arrived[0]);
    became(node.outputs[1], arrived[1]);
    return {};
  }

  Status returnFromExperts(const Node& node) {
    const auto sent = sent_.find(node.inputs[1]);
    if (sent == sent_.end())
      return base::badInput(
          node.name +
          " combines rows that no ExpertDispatch of this model sent: leave expert parallelism out.");
    graph::Attributes with = sent->second.attributes;
    with["rows"] = sent->second.slots;
    PIPESCOPE_ASSIGN(const TensorId rows, add(node, "from_experts", "RankGatherExperts",
                                              {of(node.inputs[0]), sent->second.counts}, std::move(with)));
    std::vector<TensorId> inputs{rows};
    for (std::size_t i = 1; i < node.inputs.size(); ++i) inputs.push_back(of(node.inputs[i]));
    return appendCopy(Node(node), std::move(inputs));
  }

  /// Softmax along the divided axis: the ranks exchange the largest score and the sum of exponentials of each
  /// row (Milakov and Gimelshein 2018).
  Status softmax(const Node& node, const NodeDivision& own) {
    PIPESCOPE_ASSIGN(const TensorId scores, part(node, node.inputs[0], own.inputs[0], true));
    const graph::Attributes alongRow{{"axes", std::vector<std::int64_t>{own.inputs[0]}},
                                     {"keepdims", std::int64_t{1}}};
    PIPESCOPE_ASSIGN(const TensorId largest, add(node, "own_largest", "ReduceMax", {scores}, alongRow));
    PIPESCOPE_ASSIGN(const TensorId shift, add(node, "largest", "RankMax", {largest}, attributes()));
    PIPESCOPE_ASSIGN(const TensorId shifted, add(node, "shifted", "Sub", {scores, shift}, {}));
    PIPESCOPE_ASSIGN(const TensorId exponentials, add(node, "exponentials", "Exp", {shifted}, {}));
    PIPESCOPE_ASSIGN(const TensorId ownSum,
                     add(node, "own_sum", "ReduceSum", {exponentials, wholeNumbers(node, {own.inputs[0]})},
                         {{"keepdims", std::int64_t{1}}}));
    PIPESCOPE_ASSIGN(const TensorId sum, add(node, "sum", "RankSum", {ownSum}, attributes()));
    PIPESCOPE_ASSIGN(const TensorId weights, add(node, "weights", "Div", {exponentials, sum}, {}));
    became(node.outputs[0], weights);
    return {};
  }

  /// −log softmax of the label's score, with the scores of all classes divided: the ranks exchange the
  /// largest score, the sum of exponentials and the score of the label of each row. DividedCrossEntropy gives
  /// the scores their gradient. The score of the label is picked first, so that the exponentials can take the
  /// place of the scores.
  Status crossEntropy(const Node& node, const NodeDivision& own) {
    PIPESCOPE_ASSIGN(const TensorId scores, part(node, node.inputs[0], own.inputs[0], true));
    PIPESCOPE_ASSIGN(const TensorId labels, part(node, node.inputs[1], kWhole, true));
    const graph::TensorType type = result_.tensor(scores).type;
    const graph::Attributes alongClasses{{"axes", std::vector<std::int64_t>{1}},
                                         {"keepdims", std::int64_t{1}}};
    PIPESCOPE_ASSIGN(const TensorId still, add(node, "still", "StopGradient", {scores}, {}));
    PIPESCOPE_ASSIGN(const TensorId largest, add(node, "own_largest", "ReduceMax", {still}, alongClasses));
    PIPESCOPE_ASSIGN(const TensorId shift, add(node, "largest", "RankMax", {largest}, attributes()));
    PIPESCOPE_ASSIGN(const LocalRows local, localRows(node, labels, type.shape[1]));
    PIPESCOPE_ASSIGN(const TensorId column, unsqueezed(node, "column", local.index, 2));
    PIPESCOPE_ASSIGN(const TensorId mask, unsqueezed(node, "mask", local.inside, 2));
    PIPESCOPE_ASSIGN(const TensorId picked,
                     add(node, "picked", "GatherElements", {still, column}, {{"axis", std::int64_t{1}}}));
    PIPESCOPE_ASSIGN(const TensorId above, add(node, "above", "Sub", {picked, shift}, {}));
    PIPESCOPE_ASSIGN(
        const TensorId ownLabel,
        add(node, "own_label", "Where", {mask, above, number(node, "nothing", 0, type.element)}, {}));
    PIPESCOPE_ASSIGN(const TensorId label, add(node, "label", "RankSum", {ownLabel}, attributes()));
    PIPESCOPE_ASSIGN(const TensorId shifted, add(node, "shifted", "Sub", {still, shift}, {}));
    PIPESCOPE_ASSIGN(const TensorId exponentials, add(node, "exponentials", "Exp", {shifted}, {}));
    PIPESCOPE_ASSIGN(const TensorId ownSum,
                     add(node, "own_sum", "ReduceSum", {exponentials, wholeNumbers(node, {1})},
                         {{"keepdims", std::int64_t{1}}}));
    PIPESCOPE_ASSIGN(const TensorId sum, add(node, "sum", "RankSum", {ownSum}, attributes()));
    PIPESCOPE_ASSIGN(const TensorId logarithm, add(node, "logarithm", "Log", {sum}, {}));
    PIPESCOPE_ASSIGN(const TensorId known, add(node, "known", "Sub", {logarithm, label}, {}));
    PIPESCOPE_ASSIGN(const TensorId each, add(node, "each", "DividedCrossEntropy",
                                              {known, scores, exponentials, sum, column, mask}, {}));
    PIPESCOPE_ASSIGN(const TensorId mean,
                     add(node, "mean", "ReduceMean", {each},
                         {{"axes", std::vector<std::int64_t>{0, 1}}, {"keepdims", std::int64_t{0}}}));
    became(node.outputs[0], mean);
    return {};
  }

  const GraphDivision& division_;
  /// Before the names of what is added; empty along the axis `tensor`.
  const std::string prefix_ =
      division_.options.axis == model::MeshAxis::tensor ? "" : model::toString(division_.options.axis) + "_";
  const std::vector<bool> withGradient_;
  std::map<std::tuple<TensorId, DividedAxis, bool>, TensorId> parts_;
  /// Rows that a rank sent to experts, keyed by their slots.
  struct Sent {
    TensorId counts;
    std::int64_t slots = 0;
    graph::Attributes attributes = {};  ///< those of the exchange
  };
  std::map<TensorId, Sent> sent_;
  int constants_ = 0;
};

}  // namespace

Result<graph::Graph> graphOfRank(const graph::Graph& forward, const GraphDivision& division,
                                 const ops::OperatorRegistry& registry) {
  if (division.options.ranks == 1) return forward;
  return RankGraph(forward, division, registry).run();
}

}  // namespace pipescope::compile
