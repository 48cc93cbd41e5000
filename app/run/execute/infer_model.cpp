#include "app/run/execute/infer_model.h"

#include <fmt/format.h>

#include "engine/numerics/interpreter/interpreter.h"
#include "engine/numerics/thread_pool.h"
#include "engine/onnx/reader.h"
#include "engine/ops/standard_operators.h"

namespace pipescope::app {
namespace {

namespace fs = std::filesystem;
using Tensors = std::vector<graph::TensorValue>;

fs::path inputFile(const InferFiles& files, std::size_t index) {
  return files.inputs / fmt::format("input_{}.pb", index);
}
fs::path outputFile(const InferFiles& files, std::size_t index) {
  return files.outputs / fmt::format("output_{}.pb", index);
}

base::Result<Tensors> readInputs(const onnx::Model& model, const InferFiles& files) {
  std::error_code error;
  const std::size_t count = model.graph.inputs.size();
  if (count > 0 && !fs::is_directory(files.inputs, error))
    return base::ioError(fmt::format("Cannot read the inputs: {} is no folder.", files.inputs.string()));
  Tensors tensors;
  for (std::size_t i = 0; i < count; ++i) {
    const fs::path file = inputFile(files, i);
    if (!fs::exists(file, error)) {
      return base::badInput(fmt::format(
          "{} takes {} input{}, but {} is missing: it must hold the tensor for \"{}\".", files.model.string(),
          count, count == 1 ? "" : "s", file.string(), model.graph.value(model.graph.inputs[i]).name));
    }
    PIPESCOPE_ASSIGN(graph::TensorValue value, onnx::readTensorFile(file));
    tensors.push_back(std::move(value));
  }
  return tensors;
}

/// Checks before computing that the outputs may be written.
base::Status checkOutputs(const onnx::Model& model, const InferFiles& files) {
  std::error_code error;
  if (base::isStandardOutput(files.outputs))
    return base::badInput("Outputs are files of their own and cannot go to standard output: name a folder.");
  if (!fs::exists(files.outputs, error)) return {};
  if (!fs::is_directory(files.outputs, error))
    return base::ioError(fmt::format("Cannot write the outputs: {} is no folder.", files.outputs.string()));
  base::OutputRules rules = files.rules;
  rules.inputs.push_back(files.model);
  for (std::size_t i = 0; i < model.graph.inputs.size(); ++i) rules.inputs.push_back(inputFile(files, i));
  for (std::size_t i = 0; i < model.graph.outputs.size(); ++i)
    PIPESCOPE_TRY(base::checkOutput(outputFile(files, i), base::FileKind::onnxTensor, rules));
  return {};
}

base::Result<std::vector<InferredTensor>> writeOutputs(const onnx::Model& model, const Tensors& outputs,
                                                       const InferFiles& files) {
  std::error_code error;
  fs::create_directories(files.outputs, error);
  if (error)
    return base::ioError(
        fmt::format("Cannot make the folder {}: {}.", files.outputs.string(), error.message()));
  std::vector<InferredTensor> written;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const fs::path file = outputFile(files, i);
    const std::string& name = model.graph.value(model.graph.outputs[i]).name;
    PIPESCOPE_TRY(onnx::writeTensorFile(file, name, outputs[i]));
    written.push_back({file, name, graph::toString(outputs[i].type)});
  }
  return written;
}

}  // namespace

base::Result<std::vector<InferredTensor>> inferModel(const InferFiles& files) {
  PIPESCOPE_ASSIGN(onnx::Model read, onnx::readModel(files.model, ops::standardOperators()));
  const auto model = std::make_shared<const onnx::Model>(std::move(read));
  PIPESCOPE_TRY(checkOutputs(*model, files));
  PIPESCOPE_ASSIGN(const Tensors inputs, readInputs(*model, files));
  numerics::ThreadPool pool(files.threads > 0 ? files.threads : numerics::ThreadPool::hardwareThreads());
  numerics::InterpreterOptions options;
  options.identity.seed = files.seed;
  numerics::Interpreter interpreter(model, ops::standardOperators(), pool, options);
  PIPESCOPE_ASSIGN(const Tensors outputs, interpreter.run(inputs));
  return writeOutputs(*model, outputs, files);
}

}  // namespace pipescope::app
