#pragma once
// Models for the tests of ranks, in float64 so that rounding hides nothing, with values and comparisons.
#include <cmath>
#include <random>

#include "engine/builders/builder.h"
#include "engine/compile/graph_rewriter.h"
#include "tests/unit/sharding/rank_machine.h"

namespace pipescope::sharding_test {

using Settings = std::map<std::string, builders::Setting>;

/// The graph with float64 in the place of float32.
class Widened : public compile::GraphRewriter {
 public:
  using compile::GraphRewriter::GraphRewriter;

 protected:
  base::Status copyNode(const graph::Node& node) override {
    constexpr std::int64_t kFloat = 1, kDouble = 11;  // ONNX's numbers of the types
    if (node.op != "Cast" || graph::intAttribute(node, "to", 0) != kFloat)
      return GraphRewriter::copyNode(node);
    graph::Node wide = node;
    wide.attributes["to"] = kDouble;
    return GraphRewriter::copyNode(wide);
  }
  base::Result<graph::TensorId> copyRoot(const graph::Tensor& tensor) override {
    if (tensor.type.element != graph::ElementType::float32) return GraphRewriter::copyRoot(tensor);
    const graph::TensorType type{graph::ElementType::float64, tensor.type.shape};
    if (tensor.role == graph::TensorRole::parameter) return result_.addParameter(tensor.name, type, {});
    const graph::Constant* constant = source_.constant(tensor.id);
    if (constant == nullptr) return result_.addTensor(tensor.name, type, tensor.role);
    std::vector<float> narrow(constant->bytes().size() / sizeof(float));
    std::memcpy(narrow.data(), constant->bytes().data(), constant->bytes().size());
    return result_.addConstant(tensor.name, type, bytesOf(std::vector<double>(narrow.begin(), narrow.end())));
  }
};

inline graph::Graph modelOf(const std::string& builder, const Settings& settings, std::int64_t batch,
                            bool training = true) {
  auto graph = builders::buildModel({builder, settings, batch, training}, ops::standardOperators());
  EXPECT_TRUE(graph.ok()) << graph.error().message;
  if (!graph.ok()) return {};
  auto wide = Widened(*graph, ops::standardOperators()).run();
  EXPECT_TRUE(wide.ok()) << wide.error().message;
  return wide.ok() ? std::move(*wide) : graph::Graph();
}

/// A value for every input, weight and cache, the same for the same seed.
inline std::map<std::string, Bytes> valuesOf(const graph::Graph& graph, unsigned seed, std::int64_t most) {
  std::map<std::string, Bytes> values;
  std::mt19937 random(seed);
  for (const graph::Tensor& tensor : graph.tensors()) {
    if (tensor.producer.valid() || graph.constant(tensor.id) != nullptr) continue;
    const auto count = static_cast<std::size_t>(tensor.type.elements());
    if (tensor.type.element == graph::ElementType::int32) {
      std::vector<std::int32_t> numbers(count);
      for (auto& number : numbers) number = static_cast<std::int32_t>(random() % static_cast<unsigned>(most));
      values[tensor.name] = bytesOf(numbers);
    } else {
      std::vector<double> numbers(count);
      for (auto& number : numbers) number = static_cast<double>(random() % 2001) / 1000.0 - 1.0;
      values[tensor.name] = bytesOf(numbers);
    }
  }
  return values;
}

inline const graph::Tensor* tensorNamed(const graph::Graph& graph, const std::string& name) {
  for (const graph::Tensor& tensor : graph.tensors())
    if (tensor.name == name) return &tensor;
  return nullptr;
}

inline void expectNear(const std::vector<double>& one, const std::vector<double>& other,
                       const std::string& what) {
  ASSERT_EQ(one.size(), other.size()) << what;
  double largest = 0;
  for (const double value : one) largest = std::max(largest, std::abs(value));
  for (std::size_t i = 0; i < one.size(); ++i)
    ASSERT_NEAR(one[i], other[i], 1e-10 * std::max(largest, 1e-3)) << what << ", element " << i;
}

/// Draws of one seed.
class Draw {
 public:
  explicit Draw(unsigned seed) : seed_(seed), random_(seed) {}
  unsigned seed() const { return seed_; }
  std::int64_t pick(std::initializer_list<std::int64_t> values) {
    return *(values.begin() + static_cast<std::ptrdiff_t>(random_() % values.size()));
  }
  bool coin() { return random_() % 2 == 0; }

 private:
  unsigned seed_;
  std::mt19937 random_;
};

}  // namespace pipescope::sharding_test
