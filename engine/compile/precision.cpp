#include "engine/compile/precision.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "engine/compile/graph_rewriter.h"
#include "engine/ops/core/half.h"

namespace pipescope::compile {
namespace {

using base::Result;
using base::Status;
using graph::ElementType;
using graph::Node;
using graph::Tensor;
using graph::TensorId;

/// ONNX's numbers for types, as the attribute of Cast takes them.
std::int64_t numberOf(ElementType type) {
  return type == ElementType::float16 ? 10 : type == ElementType::bfloat16 ? 16 : 1;
}

std::vector<std::byte> narrowed(const std::vector<std::byte>& floats, ElementType type) {
  std::vector<std::byte> half(floats.size() / 2);
  const auto count = static_cast<std::int64_t>(half.size() / 2);
  const auto* from = reinterpret_cast<const float*>(floats.data());
  if (type == ElementType::float16) ops::narrow(from, reinterpret_cast<ops::Float16*>(half.data()), count);
  if (type == ElementType::bfloat16) ops::narrow(from, reinterpret_cast<ops::BFloat16*>(half.data()), count);
  return half;
}

bool isLoss(const Node& node) {
  return node.op == "SoftmaxCrossEntropyLoss" || node.op == "NegativeLogLikelihoodLoss";
}

/// Operators that ONNX defines for tensor(float) alone: scales of quantized numbers, and boxes.
bool isFloatOnly(const std::string& op) {
  static const std::set<std::string> names = {"QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear",
                                              "QLinearConv",    "QLinearMatMul",    "NonMaxSuppression"};
  return names.contains(op);
}

/// True for inputs that ONNX defines as tensor(float), whatever the type of the others is: the scales and
/// regions of an operator that resizes.
bool isFloatInput(const std::string& op, std::size_t index) {
  return isFloatOnly(op) || (index > 0 && (op == "Resize" || op == "Upsample"));
}

/// Tensors that are read only where ONNX defines tensor(float).
std::set<TensorId> floatTensors(const graph::Graph& graph) {
  std::set<TensorId> found, others(graph.outputs.begin(), graph.outputs.end());
  for (const Node& node : graph.nodes()) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      (isFloatInput(node.op, i) ? found : others).insert(node.inputs[i]);
  }
  for (const TensorId id : others) found.erase(id);
  return found;
}

class PrecisionPass : public GraphRewriter {
 public:
  PrecisionPass(const graph::Graph& source, ElementType type, const ops::OperatorRegistry& registry,
                const std::vector<std::string>& keepFloat)
      : GraphRewriter(source, registry),
        type_(type),
        keepFloat_(keepFloat),
        floatTensors_(floatTensors(source)) {
    for (const graph::StateUpdate& update : source.stateUpdates) statistics_.insert(update.parameter);
    for (const Node& node : source.nodes()) {
      if (node.op == "BatchNormalization" && node.inputs.size() == 5)
        statistics_.insert({node.inputs[3], node.inputs[4]});
    }
  }

 protected:
  Result<TensorId> copyRoot(const Tensor& tensor) override {
    const bool read = floatTensors_.contains(tensor.id) && tensor.role != graph::TensorRole::input;
    if (tensor.type.element != ElementType::float32 || read || statistics_.contains(tensor.id))
      return GraphRewriter::copyRoot(tensor);
    const graph::TensorType type{type_, tensor.type.shape};
    if (tensor.role == graph::TensorRole::parameter) {
      graph::Initializer initializer = source_.initializer(tensor.id);
      if (initializer.kind == graph::Initializer::Kind::values) {
        initializer.values = std::make_shared<const graph::TensorValue>(
            graph::TensorValue{type, narrowed(initializer.values->bytes, type_)});
      }
      return result_.addParameter(tensor.name, type, std::move(initializer));
    }
    if (const graph::Constant* value = source_.constant(tensor.id)) {
      const auto narrow = [wide = *value, to = type_] { return narrowed(wide.bytes(), to); };
      return result_.shareConstant(tensor.name, type,
                                   value->known() ? graph::Constant(narrow()) : graph::Constant(narrow));
    }
    return result_.addTensor(tensor.name, type, tensor.role);
  }

  Status copyNode(const Node& node) override {
    Node copy = node;
    const bool kept = isFloatOnly(node.op) || std::ranges::find(keepFloat_, node.op) != keepFloat_.end();
    const bool makesFloat = node.op == "Constant" && floatTensors_.contains(node.outputs.front());
    if (!kept && !makesFloat) PIPESCOPE_TRY(convertAttributes(copy));
    const bool wide = kept || isLoss(node) || meetsFloat(node);
    std::vector<TensorId> inputs;
    for (const TensorId input : node.inputs) {
      TensorId id = of(input);
      const bool asFloat = wide || isFloatInput(node.op, inputs.size());
      if (asFloat && id.valid() && result_.tensor(id).type.element == type_) {
        PIPESCOPE_ASSIGN(id, castUp(node, id, inputs.size()));
      }
      inputs.push_back(id);
    }
    PIPESCOPE_TRY(appendCopy(std::move(copy), std::move(inputs)));
    return kept && !isLoss(node) ? castDown(node) : Status();
  }

  Status finish() override {
    if (!result_.loss || result_.tensor(*result_.loss).type.element != type_) return {};
    const Node& maker = result_.node(result_.tensor(*result_.loss).producer);
    PIPESCOPE_ASSIGN(const TensorId loss, castUp(Node(maker), *result_.loss, 0));
    result_.loss = loss;
    return {};
  }

 private:
  /// True if an input stays float32 in the copy. This is so for everything that is computed from a loss.
  bool meetsFloat(const Node& node) const {
    if (node.op == "BatchNormalization" || node.op == "Cast") return false;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const TensorId input = node.inputs[i];
      if (!input.valid() || isFloatInput(node.op, i)) continue;
      if (result_.tensor(of(input)).type.element == ElementType::float32) return true;
    }
    return false;
  }

  Status convertAttributes(Node& node) const {
    for (auto& [name, value] : node.attributes) {
      if (std::holds_alternative<std::shared_ptr<const graph::Graph>>(value)) {
        return base::badInput(
            fmt::format("Node {} holds a graph of its own ({}), which cannot be computed in {}: use float32.",
                        node.name, node.op, graph::toString(type_)));
      }
      auto* tensor = std::get_if<std::shared_ptr<const graph::TensorValue>>(&value);
      if (!tensor || (*tensor)->type.element != ElementType::float32) continue;
      *tensor = std::make_shared<const graph::TensorValue>(
          graph::TensorValue{{type_, (*tensor)->type.shape}, narrowed((*tensor)->bytes, type_)});
    }
    if (node.op == "Cast" && graph::intAttribute(node, "to", 0) == numberOf(ElementType::float32))
      node.attributes["to"] = numberOf(type_);
    return {};
  }

  Result<TensorId> castUp(const Node& node, TensorId id, std::size_t input) {
    return add(node, fmt::format("float32_{}", input), "Cast", {id},
               {{"to", numberOf(ElementType::float32)}});
  }

  /// Casts the results of a node that stayed in float32, for other nodes to read. Running statistics are not
  /// cast.
  Status castDown(const Node& node) {
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const TensorId old = node.outputs[i];
      if (!old.valid() || result_.tensor(of(old)).type.element != ElementType::float32) continue;
      if (std::ranges::any_of(source_.stateUpdates, [&](const auto& update) { return update.result == old; }))
        continue;
      PIPESCOPE_ASSIGN(const TensorId narrow, add(node, fmt::format("{}_{}", graph::toString(type_), i),
                                                  "Cast", {of(old)}, {{"to", numberOf(type_)}}));
      became(old, narrow);
    }
    return {};
  }

  ElementType type_;
  const std::vector<std::string>& keepFloat_;
  std::set<TensorId> floatTensors_;
  std::set<TensorId> statistics_;  ///< running statistics of batch norms, which stay float32
};

}  // namespace

Result<graph::Graph> withPrecision(const graph::Graph& forward, ElementType type,
                                   const ops::OperatorRegistry& registry,
                                   const std::vector<std::string>& keepFloat) {
  if (type == ElementType::float32) return forward;
  return PrecisionPass(forward, type, registry, keepFloat).run();
}

}  // namespace pipescope::compile
