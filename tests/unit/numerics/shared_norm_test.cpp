// Batch norms whose statistics replicas share, against one batch norm over the whole batch.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>

#include "engine/compile/distributed_norm.h"
#include "engine/compile/gradients.h"
#include "engine/compile/precision.h"
#include "engine/numerics/thread_pool.h"
#include "engine/ops/core/half.h"
#include "engine/ops/standard_operators.h"
#include "graph_testing.h"
#include "mnist_model.h"
#include "small_graphs.h"

namespace pipescope::numerics_test {
namespace {

using graph::ElementType;
using graph::Graph;
using graph::TensorId;

/// A layer, a batch norm of three channels, and a layer with two scores: the first layer learns through the
/// norm.
Graph layersAroundNorm(std::int64_t batch) {
  Graph graph;
  const TensorId samples =
                     graph.addTensor("samples", {ElementType::float32, {batch, 2}}, graph::TensorRole::input),
                 labels = graph.addTensor("labels", {ElementType::int32, {batch}}, graph::TensorRole::input);
  graph.inputs = {samples, labels};
  const auto parameter = [&](const char* name, graph::Shape shape, graph::Initializer::Kind kind) {
    return graph.addParameter(name, {ElementType::float32, std::move(shape)}, {kind, 1, {}});
  };
  using enum graph::Initializer::Kind;
  const TensorId first = parameter("first", {2, 3}, uniform), mean = parameter("mean", {3}, zeros),
                 variance = parameter("variance", {3}, ones);
  const TensorId x = appendStep(graph, "MatMul", "layer", {samples, first})[0];
  const std::vector<TensorId> norm =
      appendStep(graph, "BatchNormalization", "norm",
                 {x, parameter("scale", {3}, ones), parameter("bias", {3}, zeros), mean, variance},
                 {{"training_mode", std::int64_t{1}}, {"momentum", 0.75}, {"epsilon", 1e-5}}, 3);
  graph.stateUpdates = {
      {mean, norm[1], 0.75, 1},
      {variance, norm[2], 0.75, static_cast<double>(batch) / static_cast<double>(batch - 1)}};
  graph.outputs = appendStep(graph, "Gemm", "scores", {norm[0], parameter("second", {2, 3}, uniform)},
                             {{"transB", std::int64_t{1}}});
  graph.loss = appendStep(graph, "SoftmaxCrossEntropyLoss", "loss", {graph.outputs[0], labels})[0];
  return graph;
}

Graph sharedTraining(std::int64_t batch, ElementType type, std::int64_t replicas) {
  auto graph = compile::withPrecision(layersAroundNorm(batch), type, ops::standardOperators());
  PIPESCOPE_CHECK(graph.ok(), graph.error().message);
  graph = compile::distributeBatchNorm(*graph, replicas, ops::standardOperators());
  PIPESCOPE_CHECK(graph.ok(), graph.error().message);
  graph = compile::addGradients(*graph, ops::standardOperators());
  PIPESCOPE_CHECK(graph.ok(), graph.error().message);
  return *graph;
}

const std::vector<float> kSamples{1, -2, 2, 0.5F, 5, 1, 8, -1, 0.25F, 3, -4, 2, 1.5F, 1, 3, -3};
const std::vector<std::int32_t> kLabels{0, 1, 1, 0, 1, 0, 0, 1};

std::vector<std::byte> encodedSamples(ElementType type) {
  std::vector<std::byte> bytes(kSamples.size() * static_cast<std::size_t>(graph::sizeOf(type)));
  if (type == ElementType::float32) std::memcpy(bytes.data(), kSamples.data(), bytes.size());
  if (type == ElementType::float16) {
    ops::narrow(kSamples.data(), reinterpret_cast<ops::Float16*>(bytes.data()),
                static_cast<std::int64_t>(kSamples.size()));
  }
  return bytes;
}

/// All weights and statistics, by name, after one step over the eight samples.
std::map<std::string, std::vector<float>> afterStep(std::int64_t replicas, ElementType type) {
  numerics::ThreadPool pool(2);
  numerics::SessionOptions options;
  options.replicas = replicas;
  const auto trained = session(sharedTraining(8 / replicas, type, replicas),
                               optimizer("sgd", {{"learning_rate", 0.5}}), pool, options);
  const std::vector<std::byte> samples = encodedSamples(type);
  numerics::Results results;
  const base::Status status = trained->trainStep(
      {samples, numerics::rowsOf(std::span<const std::int32_t>(kLabels))}, numerics::Keep::none, results);
  PIPESCOPE_CHECK(status.ok(), status.error().message);
  std::map<std::string, std::vector<float>> values;
  for (const char* name : {"first", "scale", "bias", "second", "mean", "variance"}) {
    const std::size_t at = trained->parameters().find(name);
    const bool half = type == ElementType::float16 && std::string_view(name) != "mean" &&
                      std::string_view(name) != "variance";
    if (half) {
      for (const ops::Float16 each : numerics::valuesOf<ops::Float16>(trained->parameters().bytes(at)))
        values[name].push_back(ops::widened(each));
    } else {
      const auto floats = trained->parameters().floats(at);
      values[name].assign(floats.begin(), floats.end());
    }
  }
  return values;
}

TEST(SharedNorm, TrainsLikeOneNormOverTheWholeBatch) {
  const auto whole = afterStep(1, ElementType::float32);
  for (const std::int64_t replicas : {2, 4}) {
    for (const auto& [name, values] : afterStep(replicas, ElementType::float32)) {
      for (std::size_t i = 0; i < values.size(); ++i)
        EXPECT_NEAR(values[i], whole.at(name)[i], 5e-6) << name << ", " << replicas << " replicas";
    }
  }
}

TEST(SharedNorm, TrainsInFloat16) {
  const auto whole = afterStep(1, ElementType::float32);
  const auto parts = afterStep(2, ElementType::float16);
  for (const auto& [name, values] : parts) {
    for (std::size_t i = 0; i < values.size(); ++i)
      EXPECT_NEAR(values[i], whole.at(name)[i], 4e-3F * std::max(1.0F, std::abs(whole.at(name)[i]))) << name;
  }
}

/// (C: PopLibs, poplin/Norms.cpp: one all-reduce of both statistics forward, one of both sums backward.)
TEST(SharedNorm, ExchangesOnceInEachDirection) {
  for (const ElementType type : {ElementType::float32, ElementType::float16}) {
    const Graph graph = sharedTraining(4, type, 2);
    std::map<model::Pass, int> exchanges;
    for (const graph::Node& node : graph.nodes()) {
      if (node.op != "ReplicaSum") continue;
      ++exchanges[node.pass];
      const graph::TensorType& sum = graph.tensor(node.outputs[0]).type;
      EXPECT_EQ(sum.element, ElementType::float32);
      EXPECT_EQ(sum.elements(), 6) << "two numbers for each of three channels";
    }
    EXPECT_EQ(exchanges, (std::map<model::Pass, int>{{model::Pass::forward, 1}, {model::Pass::backward, 1}}));
  }
}

std::string refusal(const std::string& op, const std::vector<graph::TensorType>& inputs,
                    graph::Attributes attributes = {}) {
  Graph graph;
  graph::Node node;
  node.op = op;
  node.name = "norm";
  node.block = "B";
  node.attributes = std::move(attributes);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    node.inputs.push_back(graph.addTensor("t" + std::to_string(i), inputs[i], graph::TensorRole::input));
  const auto made = ops::inferOutputs(graph, node, 1, ops::standardOperators());
  return made.ok() ? "" : made.error().message;
}

TEST(SharedNorm, SaysWhatIsWrongWithItsOperands) {
  const auto float32 = [](graph::Shape shape) {
    return graph::TensorType{ElementType::float32, std::move(shape)};
  };
  const graph::TensorType x = float32({4, 3, 2}), channels = float32({3}), pairs = float32({2, 3});
  const auto has = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  has(refusal("BatchMoments", {float32({4})}), "needs a batch and channels");
  has(refusal("BatchMoments", {{ElementType::float64, {4, 3}}}), "float32, float16 and bfloat16 only");
  has(refusal("SharedBatchNormalization", {x, channels, channels, pairs}, {{"replicas", std::int64_t{0}}}),
      "its group is 0 replicas; it must be at least 1");
  has(refusal("SharedBatchNormalization", {x, float32({4}), channels, pairs}),
      "must hold one number for each of the 3 channels");
  has(refusal("SharedBatchNormalization", {x, channels, channels, float32({3, 2})}),
      "it must be 2x3 float32");
  EXPECT_EQ(refusal("SharedBatchNormalization", {x, channels, channels, pairs}), "");
}

}  // namespace
}  // namespace pipescope::numerics_test
