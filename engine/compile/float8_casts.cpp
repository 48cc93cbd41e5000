#include "engine/compile/float8_casts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "engine/compile/block_pattern.h"
#include "engine/compile/graph_rewriter.h"
#include "engine/ops/float8_products.h"
#include "engine/ops/ranks/ranks.h"

namespace pipescope::compile {
namespace {

using base::Result;
using base::Status;
using graph::ElementType;
using graph::Node;
using graph::Tensor;
using graph::TensorId;

class Float8Pass : public GraphRewriter {
 public:
  Float8Pass(const graph::Graph& source, const Float8Request& request, bool weightsReady,
             const ops::OperatorRegistry& registry)
      : GraphRewriter(source, registry), request_(request), weightsReady_(weightsReady) {
    if (request.blocks) listAxes();
  }

  Status checkPatterns() const {
    for (const std::string& pattern : request_.except) {
      if (std::ranges::any_of(source_.nodes(), [&](const Node& node) {
            return node.pass == model::Pass::forward && isProduct(node) && namesBlock(pattern, node.name);
          }))
        continue;
      return base::badInput(fmt::format(
          "execution.float8_except names \"{}\", but no product of the model is called so: `pipescope "
          "report` lists them in section operations.",
          pattern));
    }
    return {};
  }

 protected:
  Status copyNode(const Node& node) override {
    if (node.op == "Hold" && request_.allProducts) return holdInFloat8(node);
    if (!converts(node)) return GraphRewriter::copyNode(node);
    converted_.insert(node.name);
    PIPESCOPE_ASSIGN(const Factor left, factor(node, 0));
    PIPESCOPE_ASSIGN(const Factor right, factor(node, 1));
    Node product = node;
    product.op = (request_.forward == ElementType::float4_121 ? "Float4" : "Float8") + node.op;
    product.attributes["result"] = toString(source_.tensor(node.outputs[0]).type.element);
    product.attributes["accumulate"] = toString(request_.sums);
    std::vector<TensorId> inputs{left.value, right.value};
    if (request_.blocks) product.attributes["axes"] = std::vector{axisOf(node, 0), axisOf(node, 1)};
    if (request_.blocks || request_.currentScales) {
      inputs.insert(inputs.end(), {left.scale, right.scale});
    } else {
      product.attributes["scales"] = std::vector<std::int64_t>{left.exponent, right.exponent};
    }
    if (node.inputs.size() > 2 && node.inputs[2].valid()) {
      inputs.resize(4);
      inputs.push_back(of(node.inputs[2]));
    }
    return appendCopy(std::move(product), std::move(inputs));
  }

 private:
  enum class Part : std::uint8_t { activation, weight, gradient };
  static constexpr std::int64_t kBlock = 32;  // elements of a block of float8
  struct Factor {
    TensorId value, scale;
    std::int64_t exponent = 0;  ///< exponent of a fixed scale
  };

  /// A tensor in a block of the model and a pass, which is cast once.
  using Key = std::tuple<TensorId, std::string, model::Pass>;

  bool isProduct(const Node& node) const {
    const std::vector<std::string>& products =
        request_.blocks ? ops::blockProductOperators() : ops::float8ProductOperators();
    return std::ranges::find(products, node.op) != products.end();
  }

  bool converts(const Node& node) const {
    if (!isProduct(node) || !isHalf(node.inputs[0]) || !isHalf(node.inputs[1])) return false;
    // Backward nodes are called "<forward node>/<what they compute>".
    if (node.pass != model::Pass::forward)
      return converted_.contains(node.name.substr(0, node.name.rfind('/')));
    if (std::ranges::any_of(request_.except,
                            [&](const std::string& pattern) { return namesBlock(pattern, node.name); }))
      return false;
    return request_.allProducts || partOf(node.inputs[0]) == Part::weight ||
           partOf(node.inputs[1]) == Part::weight;
  }

  Key keyOf(const Node& node, std::size_t input) const {
    const TensorId id = sourceOf(node.inputs[input]);
    // A stashed activation is better than a second cast. A weight stays on the device in any case.
    const bool forward = partOf(id) == Part::activation || keeps(id);
    return {id, node.block, forward ? model::Pass::forward : node.pass};
  }

  /// True for a weight that devices keep as it is cast.
  bool keeps(TensorId id) const {
    return request_.keepsWeights && source_.tensor(id).role == graph::TensorRole::parameter;
  }

  /// The gather of activations over tensor ranks that made a factor; null: something else did. In blocks,
  /// parts must hold whole blocks, and float4 has a scale of the whole tensor besides.
  const Node* gatherOf(TensorId id) const {
    const Tensor& tensor = source_.tensor(id);
    if (!tensor.producer.valid() || tensor.role == graph::TensorRole::gradient) return nullptr;
    const Node& maker = source_.node(tensor.producer);
    if (maker.op != "RankGather" || maker.pass != model::Pass::forward ||
        ops::meshAxisOf(maker) != model::MeshAxis::tensor || maker.attributes.contains("blocks"))
      return nullptr;
    const Tensor& part = source_.tensor(maker.inputs[0]);
    if (!request_.blocks) return &maker;
    const auto axis = static_cast<std::size_t>(graph::intAttribute(maker, "axis", 0));
    const bool rows = axis == 0 && part.type.shape.size() == 2 && part.type.shape[0] % kBlock == 0;
    return rows && request_.forward != ElementType::float4_121 ? &maker : nullptr;
  }

  /// The tensor that is cast for a factor: what is gathered is cast before.
  TensorId sourceOf(TensorId id) const {
    const Node* gather = gatherOf(id);
    return gather != nullptr ? gather->inputs[0] : id;
  }

  /// The axis of a factor over which a product sums, counted from the last one.
  std::int64_t axisOf(const Node& node, std::size_t input) const {
    if (source_.tensor(node.inputs[input]).type.shape.size() < 2) return -1;
    if (node.op == "GradMatMulLeft" || node.op == "ExpertProduct") return -1;
    if (node.op == "GradMatMulRight" || node.op == "GradExpertProductWeights") return -2;
    if (node.op == "GradExpertProductRows") return input == 0 ? -1 : -2;
    const bool turned = graph::intAttribute(node, input == 0 ? "transA" : "transB", 0) != 0;
    return (input == 0) != turned ? -1 : -2;
  }

  /// Lists along which axes each factor is cast, so that the forward pass casts what the backward pass needs.
  void listAxes() {
    for (const Node& node : source_.nodes()) {
      if (!converts(node)) continue;
      converted_.insert(node.name);
      for (const std::size_t input : {0, 1}) {
        std::vector<std::int64_t>& axes = axes_[keyOf(node, input)];
        const std::int64_t axis = axisOf(node, input);
        if (std::ranges::find(axes, axis) == axes.end()) axes.push_back(axis);
      }
    }
    converted_.clear();
  }

  bool isHalf(TensorId id) const {
    const ElementType type = source_.tensor(id).type.element;
    return type == ElementType::float16 || type == ElementType::bfloat16;
  }

  /// Caches that wait for tokens to come are as wide as those that products read.
  Status holdInFloat8(const Node& node) {
    std::vector<TensorId> inputs{of(node.inputs[0])};
    for (std::size_t i = 1; i < node.inputs.size(); ++i) {
      PIPESCOPE_ASSIGN(const Factor cache, factor(node, i));
      inputs.push_back(cache.value);
    }
    return appendCopy(node, std::move(inputs));
  }

  /// A weight may be transposed or reshaped before it is multiplied.
  Part partOf(TensorId id) const {
    static constexpr std::array<std::string_view, 7> kViews{"Transpose", "Reshape",   "Identity", "Cast",
                                                            "Squeeze",   "Unsqueeze", "Flatten"};
    const Tensor* tensor = &source_.tensor(id);
    if (tensor->role == graph::TensorRole::gradient) return Part::gradient;
    while (tensor->producer.valid()) {
      const Node& node = source_.node(tensor->producer);
      if (std::ranges::find(kViews, node.op) == kViews.end()) return Part::activation;
      tensor = &source_.tensor(node.inputs[0]);
    }
    const bool weight =
        tensor->role == graph::TensorRole::parameter || source_.constant(tensor->id) != nullptr;
    return weight ? Part::weight : Part::activation;
  }

  /// A weight that never changes, and memory that stays on the device and has no value of its own, as a cache
  /// of keys: devices hold them in float8.
  bool isHeldInFloat8(TensorId id, Part part) const {
    const Tensor& tensor = source_.tensor(id);
    if (tensor.producer.valid()) return false;
    const bool resident = tensor.role == graph::TensorRole::constant && source_.constant(id) == nullptr;
    return resident || (weightsReady_ && part == Part::weight);
  }

  /// The node that casts an input of a product.
  Node castOf(const Node& node, std::size_t input, Part part) const {
    static constexpr std::array<const char*, 3> kNames{"float8_input", "float8_weight", "float8_gradient"};
    Node cast;
    cast.op = request_.blocks ? "BlockCast" : "Float8Cast";
    cast.name = fmt::format("{}/{}", node.name, kNames[static_cast<std::size_t>(part)]);
    if (input > 0 && part == partOf(node.inputs[0])) cast.name += fmt::format("_{}", input);
    cast.block = node.block;
    cast.pass = node.pass;
    cast.inputs = {of(sourceOf(node.inputs[input]))};
    cast.attributes["format"] = toString(part == Part::gradient ? request_.gradient : request_.forward);
    if (isHeldInFloat8(node.inputs[input], part) || keeps(node.inputs[input]))
      cast.attributes["prepared"] = std::int64_t{1};
    return cast;
  }

  /// Puts the parts of the ranks together, as a gather of the model does.
  Result<TensorId> gathered(const Node& gather, const std::string& suffix, TensorId part) {
    return add(gather, suffix, "RankGather", {part}, gather.attributes);
  }

  Result<Factor> factor(const Node& node, std::size_t input) {
    const Part part = partOf(node.inputs[input]);
    const Key key = keyOf(node, input);
    const std::vector<std::int64_t> axes = request_.blocks ? axes_.at(key) : std::vector<std::int64_t>{0};
    const auto [found, isNew] = casts_.try_emplace(key);
    if (isNew) {
      Node cast = castOf(node, input, part);
      const std::array exponents{request_.activationScale, request_.weightScale, request_.gradientScale};
      const std::int64_t exponent = exponents[static_cast<std::size_t>(part)];
      const bool scaled = request_.blocks || request_.currentScales;
      if (request_.blocks) cast.attributes["axes"] = axes;
      if (!scaled) cast.attributes["scale"] = exponent;
      std::vector<std::string> names;
      for (std::size_t i = 0; i < axes.size(); ++i) {
        const std::string along = i == 0 ? "" : "_turned";
        names.push_back(cast.name + "/out" + along);
        if (scaled) names.push_back(cast.name + "/scale" + along);
      }
      const auto role = part == Part::gradient ? graph::TensorRole::gradient : graph::TensorRole::activation;
      PIPESCOPE_ASSIGN(const std::vector<TensorId> made,
                       ops::appendNode(result_, std::move(cast), names, role, registry_));
      for (std::size_t i = 0; i < axes.size(); ++i) {
        Factor factor{made[scaled ? 2 * i : i], scaled ? made[2 * i + 1] : TensorId(), exponent};
        if (const Node* gather = gatherOf(node.inputs[input])) {
          const std::string along = i == 0 ? "" : "_turned";
          PIPESCOPE_ASSIGN(factor.value, gathered(*gather, "float8" + along, factor.value));
          if (request_.blocks) {
            PIPESCOPE_ASSIGN(factor.scale, gathered(*gather, "scales" + along, factor.scale));
          }
        }
        found->second.push_back(factor);
      }
    }
    const auto along = std::ranges::find(axes, request_.blocks ? axisOf(node, input) : 0);
    return found->second[static_cast<std::size_t>(along - axes.begin())];
  }

  const Float8Request& request_;
  bool weightsReady_;
  std::set<std::string> converted_;
  std::map<Key, std::vector<std::int64_t>> axes_;  ///< with blocks: axes along which it is cast
  std::map<Key, std::vector<Factor>> casts_;       ///< for each of these axes; else one
};

}  // namespace

Result<graph::Graph> withFloat8(const graph::Graph& graph, const Float8Request& request, bool weightsReady,
                                const ops::OperatorRegistry& registry) {
  Float8Pass pass(graph, request, weightsReady, registry);
  PIPESCOPE_TRY(pass.checkPatterns());
  return pass.run();
}

}  // namespace pipescope::compile
