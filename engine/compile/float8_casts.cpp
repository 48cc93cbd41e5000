#include "engine/compile/float8_casts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "engine/compile/block_pattern.h"
#include "engine/compile/graph_rewriter.h"
#include "engine/ops/float8_products.h"

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
      : GraphRewriter(source, registry), request_(request), weightsReady_(weightsReady) {}

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
    product.op = "Float8" + node.op;
    product.attributes["result"] = toString(source_.tensor(node.outputs[0]).type.element);
    product.attributes["accumulate"] = toString(request_.sums);
    std::vector<TensorId> inputs{left.value, right.value};
    if (request_.currentScales) {
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
  struct Factor {
    TensorId value, scale;
    std::int64_t exponent = 0;  ///< exponent of a fixed scale
  };

  static bool isProduct(const Node& node) {
    const std::vector<std::string>& products = ops::float8ProductOperators();
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

  Result<Factor> factor(const Node& node, std::size_t input) {
    const TensorId id = node.inputs[input];
    const Part part = partOf(id);
    // A stashed activation is better than a second cast. A weight stays on the device in any case.
    const auto pass = part == Part::activation ? model::Pass::forward : node.pass;
    const auto [found, isNew] = casts_.try_emplace({id, node.block, pass});
    if (!isNew) return found->second;
    static constexpr std::array<const char*, 3> kNames{"float8_input", "float8_weight", "float8_gradient"};
    const std::array exponents{request_.activationScale, request_.weightScale, request_.gradientScale};
    Node cast;
    cast.op = "Float8Cast";
    cast.name = fmt::format("{}/{}", node.name, kNames[static_cast<std::size_t>(part)]);
    if (input > 0 && part == partOf(node.inputs[0])) cast.name += fmt::format("_{}", input);
    cast.block = node.block;
    cast.pass = node.pass;
    cast.inputs = {of(id)};
    cast.attributes["format"] = toString(part == Part::gradient ? request_.gradient : request_.forward);
    if (!request_.currentScales) cast.attributes["scale"] = exponents[static_cast<std::size_t>(part)];
    if (isHeldInFloat8(id, part)) cast.attributes["prepared"] = std::int64_t{1};
    std::vector<std::string> names{cast.name + "/out"};
    if (request_.currentScales) names.push_back(cast.name + "/scale");
    const auto role = part == Part::gradient ? graph::TensorRole::gradient : graph::TensorRole::activation;
    PIPESCOPE_ASSIGN(const std::vector<TensorId> made,
                     ops::appendNode(result_, std::move(cast), names, role, registry_));
    found->second = {made[0], made.size() > 1 ? made[1] : TensorId(),
                     exponents[static_cast<std::size_t>(part)]};
    return found->second;
  }

  const Float8Request& request_;
  bool weightsReady_;
  std::set<std::string> converted_;
  std::map<std::tuple<TensorId, std::string, model::Pass>, Factor> casts_;
};

}  // namespace

Result<graph::Graph> withFloat8(const graph::Graph& graph, const Float8Request& request, bool weightsReady,
                                const ops::OperatorRegistry& registry) {
  Float8Pass pass(graph, request, weightsReady, registry);
  PIPESCOPE_TRY(pass.checkPatterns());
  return pass.run();
}

}  // namespace pipescope::compile
