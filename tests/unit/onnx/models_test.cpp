// Compares models exported by PyTorch (tests/conformance/onnx/data/make_models.py) with what PyTorch
// computed.
#include <cmath>
#include <filesystem>
#include <fstream>

#include "engine/compile/gradients.h"
#include "engine/numerics/session.h"
#include "engine/onnx/loss.h"
#include "engine/ops/standard_operators.h"
#include "model_maker.h"

namespace pipescope::onnx_test {
namespace {

namespace fs = std::filesystem;
const fs::path kData = fs::path(PIPESCOPE_SOURCE_DIR) / "tests/conformance/onnx/data";

void expectClose(const graph::TensorValue& actual, const graph::TensorValue& expected) {
  ASSERT_EQ(actual.type, expected.type);
  const Floats a = valuesOf<float>(actual), e = valuesOf<float>(expected);
  for (std::size_t i = 0; i < a.size(); ++i)
    ASSERT_NEAR(a[i], e[i], 2e-5F * (1 + std::abs(e[i]))) << "element " << i;
}

graph::TensorValue readTensor(const fs::path& file) {
  auto value = onnx::readTensorFile(file);
  PIPESCOPE_CHECK(value.ok(), value.error().message);
  return *value;
}

class Inference : public ::testing::TestWithParam<std::string> {};

TEST_P(Inference, InterpretedEqualsPyTorch) {
  const fs::path folder = kData / GetParam();
  auto model = onnx::readModel(folder / "model.onnx", ops::standardOperators());
  ASSERT_TRUE(model.ok()) << model.error().message;
  base::SerialExecutor executor;
  numerics::Interpreter interpreter(std::make_shared<const onnx::Model>(std::move(*model)),
                                    ops::standardOperators(), executor);
  const auto outputs = interpreter.run({readTensor(folder / "input_0.pb")});
  ASSERT_TRUE(outputs.ok()) << outputs.error().message;
  expectClose(outputs->at(0), readTensor(folder / "output_0.pb"));
}

TEST_P(Inference, InstantiatedEqualsPyTorch) {
  const fs::path folder = kData / GetParam();
  const auto model = onnx::readModel(folder / "model.onnx", ops::standardOperators());
  ASSERT_TRUE(model.ok()) << model.error().message;
  const graph::TensorValue input = readTensor(folder / "input_0.pb");
  onnx::InstantiateOptions options;
  options.microBatch = input.type.shape[0];
  const auto instance = onnx::instantiate(*model, ops::standardOperators(), options);
  ASSERT_TRUE(instance.ok()) << instance.error().message;
  base::SerialExecutor executor;
  const auto session =
      numerics::Session::create(instance->graph, ops::standardOperators(), nullptr, executor);
  ASSERT_TRUE(session.ok()) << session.error().message;
  numerics::Results results;
  const base::Status status =
      (*session)->infer({std::span<const std::byte>(input.bytes)}, numerics::Keep::all, results);
  ASSERT_TRUE(status.ok()) << status.error().message;
  expectClose({instance->graph.tensor(instance->graph.outputs[0]).type, results.outputs[0]},
              readTensor(folder / "output_0.pb"));
}

INSTANTIATE_TEST_SUITE_P(PyTorch, Inference,
                         ::testing::Values("lenet", "lenet_opset9", "resnet", "depthwise", "encoder",
                                           "encoder_opset12", "lstm", "gru"));

class Training : public ::testing::TestWithParam<std::string> {};

TEST_P(Training, LossesEqualPyTorch) {
  const fs::path folder = kData / (GetParam() + "_training");
  const auto model = onnx::readModel(folder / "model.onnx", ops::standardOperators());
  ASSERT_TRUE(model.ok()) << model.error().message;
  const graph::TensorValue input = readTensor(folder / "input_0.pb");
  onnx::TrainingModelOptions options;
  options.instantiate.training = true;
  options.instantiate.microBatch = input.type.shape[0];
  const auto instance = onnx::instantiateWithLoss(*model, ops::standardOperators(), options);
  ASSERT_TRUE(instance.ok()) << instance.error().message;
  const auto graph = compile::addGradients(instance->graph, ops::standardOperators());
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  auto sgd = optimizers::createOptimizer("sgd", {{"learning_rate", 0.1}});
  ASSERT_TRUE(sgd.ok()) << sgd.error().message;
  base::SerialExecutor executor;
  const auto session = numerics::Session::create(*graph, ops::standardOperators(), std::move(*sgd), executor);
  ASSERT_TRUE(session.ok()) << session.error().message;
  const std::int64_t classes = graph->tensor(graph->outputs[0]).type.shape.back();
  std::vector<std::int32_t> labels;
  for (std::int64_t i = 0; i < input.type.shape[0]; ++i)
    labels.push_back(static_cast<std::int32_t>(i % classes));
  std::ifstream expected(folder / "losses.txt");
  std::size_t steps = 0;
  for (double loss = 0; expected >> loss; ++steps) {
    numerics::Results results;
    const numerics::Rows rows{std::span<const std::byte>(input.bytes),
                              numerics::rowsOf(std::span<const std::int32_t>(labels))};
    const base::Status status = (*session)->trainStep(rows, numerics::Keep::none, results);
    ASSERT_TRUE(status.ok()) << status.error().message;
    ASSERT_NEAR(static_cast<double>(results.losses.at(0)), loss, 2e-4 * (1 + loss)) << "step " << steps;
  }
  EXPECT_EQ(steps, 4U);
}

INSTANTIATE_TEST_SUITE_P(PyTorch, Training,
                         ::testing::Values("lenet", "resnet", "depthwise", "float_encoder", "lstm"));

}  // namespace
}  // namespace pipescope::onnx_test
