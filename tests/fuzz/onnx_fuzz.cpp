// Reads bytes as an ONNX model. If they are one, does everything with it that the programs do: instantiate,
// add gradients, plan, interpret. A crash, hang, leak or unbounded memory is a fault; an error sentence is
// not.
#include <cstddef>
#include <cstdint>
#include <limits>

#include "engine/compile/gradients.h"
#include "engine/numerics/graph_program.h"
#include "engine/numerics/interpreter/interpreter.h"
#include "engine/onnx/loss.h"
#include "engine/onnx/reader.h"
#include "engine/ops/standard_operators.h"

namespace {

using namespace pipescope;

constexpr std::int64_t kMostBytes = 1 << 20;
constexpr std::int64_t kMostSteps = 2000;
constexpr std::int64_t kMostInputElements = 1 << 10;

/// Makes inputs of zeros with the declared shapes and with 2 for open extents. Returns false if they would be
/// large.
bool makeInputs(const onnx::OnnxGraph& graph, std::vector<graph::TensorValue>& inputs) {
  for (const onnx::ValueId id : graph.inputs) {
    const onnx::ModelValue& declared = graph.value(id);
    graph::TensorValue value{{declared.element.value_or(graph::ElementType::float32), {}}, {}};
    std::int64_t elements = 1;
    for (const onnx::Dimension& dimension : declared.shape.value_or(std::vector<onnx::Dimension>())) {
      const std::int64_t extent = dimension.extent.value_or(2);
      if (extent > kMostInputElements) return false;
      elements *= extent;
      if (elements > kMostInputElements) return false;
      value.type.shape.push_back(extent);
    }
    value.bytes.resize(static_cast<std::size_t>(value.type.bytes().count));
    inputs.push_back(std::move(value));
  }
  return true;
}

bool isSmall(const graph::Graph& graph) {
  std::int64_t bytes = 0;
  for (const graph::Tensor& tensor : graph.tensors()) {
    bytes += tensor.type.bytes().count;
    if (bytes > kMostBytes) return false;
  }
  return true;
}

void instantiate(const onnx::Model& model) {
  for (const char* loss : {"cross_entropy", "mse", "model"}) {
    onnx::TrainingModelOptions options;
    options.loss = loss;
    options.instantiate.microBatch = 2;
    options.instantiate.training = true;
    options.instantiate.maxNodes = static_cast<std::size_t>(kMostSteps);
    options.instantiate.maxFoldedBytes = kMostBytes;
    const auto made = onnx::instantiateWithLoss(model, ops::standardOperators(), options);
    if (!made.ok() || !isSmall(made->graph)) continue;
    const auto trained = compile::addGradients(made->graph, ops::standardOperators());
    if (trained.ok() && isSmall(*trained))
      (void)numerics::GraphProgram::create(*trained, ops::standardOperators());
  }
  onnx::InstantiateOptions options;
  options.microBatch = 2;
  options.maxNodes = static_cast<std::size_t>(kMostSteps);
  options.maxFoldedBytes = kMostBytes;
  const auto instance = onnx::instantiate(model, ops::standardOperators(), options);
  if (!instance.ok()) return;
  if (!isSmall(instance->graph)) return;
  (void)numerics::GraphProgram::create(instance->graph, ops::standardOperators());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto read =
      onnx::parseModel(std::as_bytes(std::span(data, size)), ".", "fuzz.onnx", ops::standardOperators());
  if (!read.ok()) return 0;
  const auto model = std::make_shared<const onnx::Model>(std::move(*read));
  instantiate(*model);
  std::vector<graph::TensorValue> inputs;
  if (!makeInputs(model->graph, inputs)) return 0;
  base::SerialExecutor executor;
  numerics::InterpreterOptions options;
  options.maxBytes = kMostBytes;
  options.maxSteps = kMostSteps;
  (void)numerics::Interpreter(model, ops::standardOperators(), executor, options).run(inputs);
  return 0;
}
