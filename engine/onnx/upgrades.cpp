#include "engine/onnx/upgrades.h"

#include <fmt/format.h>

#include <optional>
#include <span>

namespace pipescope::onnx {

using base::badInput;
using base::Result;
using base::Status;

namespace {

using Ints = std::vector<std::int64_t>;
using Nodes = std::vector<RawNode>;

template <class T>
std::vector<std::byte> bytesOf(std::span<const T> values) {
  const auto bytes = std::as_bytes(values);
  return {bytes.begin(), bytes.end()};
}
TensorValue intsValue(const Ints& values) {
  return {{ElementType::int64, {static_cast<std::int64_t>(values.size())}},
          bytesOf(std::span<const std::int64_t>(values))};
}

TensorValue scalarValue(double value, ElementType element) {
  const auto single = static_cast<float>(value);
  if (element == ElementType::float64) return {{element, {}}, bytesOf(std::span<const double>(&value, 1))};
  return {{ElementType::float32, {}}, bytesOf(std::span<const float>(&single, 1))};
}

std::string title(const RawNode& node) {
  return node.op + " " + node.name;
}

/// Removes an attribute and returns it. Returns nothing if it is missing or of another kind.
template <class T>
std::optional<T> take(RawNode& node, const std::string& name) {
  const auto found = node.attributes.find(name);
  if (found == node.attributes.end()) return std::nullopt;
  const T* value = std::get_if<T>(&found->second);
  if (!value) return std::nullopt;
  T copy = *value;
  node.attributes.erase(found);
  return copy;
}

void setInput(RawNode& node, std::size_t index, std::string name) {
  if (node.inputs.size() <= index) node.inputs.resize(index + 1);
  node.inputs[index] = std::move(name);
}

void intsToInput(RawNode& node, UpgradeContext& context, const std::string& attribute, std::size_t index) {
  if (const std::optional<Ints> values = take<Ints>(node, attribute))
    setInput(node, index, context.addConstant(node.name, attribute, intsValue(*values)));
}

ElementType elementOfInput(const RawNode& node, const UpgradeContext& context) {
  const ModelValue* value = node.inputs.empty() ? nullptr : context.valueOf(node.inputs[0]);
  return value && value->element ? *value->element : ElementType::float32;
}

/// Makes a scalar of the type of input 0. Types other than float32 and float64 go through a CastLike.
void realToInput(RawNode& node, Nodes& before, UpgradeContext& context, const std::string& attribute,
                 std::size_t index) {
  const std::optional<double> value = take<double>(node, attribute);
  if (!value) return;
  const ElementType element = elementOfInput(node, context);
  std::string scalar = context.addConstant(node.name, attribute, scalarValue(*value, element));
  if (element != ElementType::float32 && element != ElementType::float64 && !node.inputs.empty()) {
    const std::string cast = context.freshName(node.name, attribute);
    before.push_back({"CastLike", node.name + "/" + attribute, {scalar, node.inputs[0]}, {cast}, {}, -1});
    scalar = cast;
  }
  setInput(node, index, scalar);
}

Result<Nodes> axesToInput(RawNode node, UpgradeContext& context) {
  intsToInput(node, context, "axes", 1);
  return Nodes{std::move(node)};
}

Result<Nodes> splitToInput(RawNode node, UpgradeContext& context) {
  intsToInput(node, context, "split", 1);
  return Nodes{std::move(node)};
}

Result<Nodes> sliceToInputs(RawNode node, UpgradeContext& context) {
  intsToInput(node, context, "starts", 1);
  intsToInput(node, context, "ends", 2);
  intsToInput(node, context, "axes", 3);
  return Nodes{std::move(node)};
}

Result<Nodes> clipToInputs(RawNode node, UpgradeContext& context) {
  Nodes nodes;
  realToInput(node, nodes, context, "min", 1);
  realToInput(node, nodes, context, "max", 2);
  nodes.push_back(std::move(node));
  return nodes;
}

Result<Nodes> padToInputs(RawNode node, UpgradeContext& context) {
  Nodes nodes;
  intsToInput(node, context, "pads", 1);
  realToInput(node, nodes, context, "value", 2);
  nodes.push_back(std::move(node));
  return nodes;
}

Result<Nodes> topKToInput(RawNode node, UpgradeContext& context) {
  if (const std::optional<std::int64_t> k = take<std::int64_t>(node, "k"))
    setInput(node, 1, context.addConstant(node.name, "k", intsValue({*k})));
  return Nodes{std::move(node)};
}

/// The mask has the type of the data up to opset 9 and is boolean from opset 10.
Result<Nodes> dropoutRatioToInput(RawNode node, UpgradeContext& context, bool typedMask) {
  if (const std::optional<double> ratio = take<double>(node, "ratio")) {
    const std::string name =
        context.addConstant(node.name, "ratio", scalarValue(*ratio, ElementType::float32));
    setInput(node, 1, name);
  }
  Nodes nodes;
  if (typedMask && !node.inputs.empty() && node.outputs.size() > 1 && !node.outputs[1].empty()) {
    const std::string mask = context.freshName(node.name, "mask");
    nodes.push_back({"CastLike", node.name + "/mask", {mask, node.inputs[0]}, {node.outputs[1]}, {}, -1});
    node.outputs[1] = mask;
  }
  nodes.insert(nodes.begin(), std::move(node));
  return nodes;
}
Result<Nodes> dropoutBefore10(RawNode node, UpgradeContext& context) {
  return dropoutRatioToInput(std::move(node), context, true);
}
Result<Nodes> dropoutBefore12(RawNode node, UpgradeContext& context) {
  return dropoutRatioToInput(std::move(node), context, false);
}

/// Softmax and similar operators see a matrix before opset 13: the axes before `axis` are rows, the others
/// columns.
Result<Nodes> coercedSoftmax(RawNode node, UpgradeContext& context) {
  const std::int64_t axis = take<std::int64_t>(node, "axis").value_or(1);
  const ModelValue* data = node.inputs.empty() ? nullptr : context.valueOf(node.inputs[0]);
  const bool last =
      axis == -1 || (data && data->shape && axis == static_cast<std::int64_t>(data->shape->size()) - 1);
  if (last || node.inputs.empty() || node.outputs.empty()) {
    node.attributes["axis"] = std::int64_t{-1};
    return Nodes{std::move(node)};
  }
  const std::string shape = context.freshName(node.name, "shape");
  const std::string matrix = context.freshName(node.name, "matrix");
  const std::string result = context.freshName(node.name, "result");
  Nodes nodes{{"Shape", node.name + "/shape", {node.inputs[0]}, {shape}, {}, -1},
              {"Flatten", node.name + "/flatten", {node.inputs[0]}, {matrix}, {{"axis", axis}}, -1}};
  RawNode reshape{"Reshape", node.name + "/reshape", {result, shape}, {node.outputs[0]}, {}, -1};
  node.attributes["axis"] = std::int64_t{1};
  node.inputs[0] = matrix;
  node.outputs[0] = result;
  nodes.push_back(std::move(node));
  nodes.push_back(std::move(reshape));
  return nodes;
}

/// Upsample and Resize place samples "asymmetrically" and round down before opset 11.
void resizeAsBefore11(RawNode& node) {
  node.op = "Resize";
  const std::string scales = node.inputs.size() > 1 ? node.inputs[1] : "";
  node.inputs.resize(std::min<std::size_t>(node.inputs.size(), 1));
  setInput(node, 2, scales);
  node.attributes["coordinate_transformation_mode"] = std::string("asymmetric");
  node.attributes["nearest_mode"] = std::string("floor");
}
Result<Nodes> upsampleBefore9(RawNode node, UpgradeContext& context) {
  const std::optional<std::vector<double>> scales = take<std::vector<double>>(node, "scales");
  if (!scales) return badInput(fmt::format("{}: the attribute scales is missing.", title(node)));
  const std::vector<float> singles(scales->begin(), scales->end());
  TensorValue value{{ElementType::float32, {static_cast<std::int64_t>(singles.size())}},
                    bytesOf(std::span<const float>(singles))};
  setInput(node, 1, context.addConstant(node.name, "scales", std::move(value)));
  resizeAsBefore11(node);
  return Nodes{std::move(node)};
}
Result<Nodes> resizeBefore11(RawNode node, UpgradeContext&) {
  resizeAsBefore11(node);
  return Nodes{std::move(node)};
}

/// More than one output meant training before opset 14. The fourth and fifth output, which the backward pass
/// would have used, no longer exist.
Result<Nodes> batchNormalizationBefore14(RawNode node, UpgradeContext&) {
  if (take<std::int64_t>(node, "spatial").value_or(1) != 1) {
    return badInput(
        fmt::format("{}: spatial = 0 (statistics for each position) is not supported.", title(node)));
  }
  while (!node.outputs.empty() && node.outputs.back().empty()) node.outputs.pop_back();
  if (node.outputs.size() > 3) {
    // Exported models do not read these outputs. If one does, its reader reports an unknown name.
    node.outputs.resize(3);
  }
  if (node.outputs.size() > 1) node.attributes["training_mode"] = std::int64_t{1};
  return Nodes{std::move(node)};
}

Result<Nodes> scatter(RawNode node, UpgradeContext&) {
  node.op = "ScatterElements";
  return Nodes{std::move(node)};
}

Result<Nodes> roiAlignBefore16(RawNode node, UpgradeContext&) {
  node.attributes["coordinate_transformation_mode"] = std::string("output_half_pixel");
  return Nodes{std::move(node)};
}

Result<Nodes> scanBefore9(RawNode node, UpgradeContext&) {
  return badInput(fmt::format(
      "{}: Scan of opset 8, with a batch axis of its own, is not supported; export with opset 9 or later.",
      title(node)));
}

struct Upgrade {
  const char* op;
  std::int64_t first, last;  ///< opsets that it applies to
  Result<Nodes> (*apply)(RawNode, UpgradeContext&);
};
constexpr Upgrade kUpgrades[] = {
    {"Squeeze", 1, 12, axesToInput},
    {"Unsqueeze", 1, 12, axesToInput},
    {"ReduceSum", 1, 12, axesToInput},
    {"Split", 2, 12, splitToInput},
    {"Slice", 1, 9, sliceToInputs},
    {"Clip", 6, 10, clipToInputs},
    {"Pad", 2, 10, padToInputs},
    {"TopK", 1, 9, topKToInput},
    {"Dropout", 7, 9, dropoutBefore10},
    {"Dropout", 10, 11, dropoutBefore12},
    {"Softmax", 1, 12, coercedSoftmax},
    {"LogSoftmax", 1, 12, coercedSoftmax},
    {"Hardmax", 1, 12, coercedSoftmax},
    {"Upsample", 7, 8, upsampleBefore9},
    {"Upsample", 9, 17, resizeBefore11},
    {"Resize", 10, 10, resizeBefore11},
    {"BatchNormalization", 7, 13, batchNormalizationBefore14},
    {"Scatter", 9, 17, scatter},
    {"RoiAlign", 10, 15, roiAlignBefore16},
    {"Scan", 8, 8, scanBefore9},
};

/// Operators that changed between opsets 1 and 7, each with the opset of its last change. An operator that
/// has not changed since the opset of a model has the same meaning in it.
struct Changed {
  std::int64_t opset;
  std::set<std::string> ops;
};
const std::vector<Changed>& changedBefore7() {
  static const std::vector<Changed> changes{
      {2, {"GlobalLpPool", "LpPool", "Pad", "Split"}},
      {4, {"Concat"}},
      {5, {"Reshape"}},
      {6, {"Abs",        "Cast",        "Ceil",
           "Clip",       "Elu",         "Exp",
           "Floor",      "HardSigmoid", "InstanceNormalization",
           "LeakyRelu",  "Log",         "Max",
           "Mean",       "Min",         "Neg",
           "Reciprocal", "Relu",        "Selu",
           "Sigmoid",    "Sqrt",        "Sum",
           "Tanh",       "Tile"}},
      {7, {"Acos", "Add",  "And",     "Asin",        "Atan",     "AveragePool", "BatchNormalization",
           "Cos",  "Div",  "Dropout", "Equal",       "GRU",      "Gemm",        "Greater",
           "LSTM", "Less", "Mul",     "Multinomial", "Or",       "PRelu",       "Pow",
           "RNN",  "Sin",  "Sub",     "Tan",         "Upsample", "Xor"}}};
  return changes;
}

Status checkOld(const RawNode& node, std::int64_t opset) {
  for (const Changed& change : changedBefore7()) {
    if (change.opset > opset && change.ops.contains(node.op)) {
      return badInput(
          fmt::format("{}: the model is of opset {}, but {} is supported only from opset {} on; export the "
                      "model with opset 7 to 17.",
                      title(node), opset, node.op, change.opset));
    }
  }
  return {};
}

}  // namespace

bool isRenamed(const std::string& op) {
  return op == "Upsample" || op == "Scatter";
}

Result<Nodes> upgradeNode(RawNode node, std::int64_t opset, UpgradeContext& context) {
  if (opset < 7) PIPESCOPE_TRY(checkOld(node, opset));
  for (const Upgrade& upgrade : kUpgrades) {
    if (node.op == upgrade.op && opset >= upgrade.first && opset <= upgrade.last)
      return upgrade.apply(std::move(node), context);
  }
  return Nodes{std::move(node)};
}

}  // namespace pipescope::onnx
