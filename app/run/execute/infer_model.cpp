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

base::Result<Tensors> readInputs(const onnx::Model& model, const InferFiles& files) {
  std::error_code error;
  const std::size_t count = model.graph.inputs.size();
  if (count > 0 && !fs::is_directory(files.inputs, error))
    return base::ioError(fmt::format("Cannot read the inputs: {} is no folder.", files.inputs.string()));
  Tensors tensors;
  for (std::size_t i = 0; i < count; ++i) {
    const fs::path file = files.inputs / fmt::format("input_{}.pb", i);
    if (!fs::exists(file, error)) {
      return base::badInput(fmt::format(
          "{} takes {} inputs, but {} is missing: it must hold the tensor for \"{}\".", files.model.string(),
          count, file.string(), model.graph.value(model.graph.inputs[i]).name));
    }
    PIPESCOPE_ASSIGN(graph::TensorValue value, onnx::readTensorFile(file));
    tensors.push_back(std::move(value));
  }
  return tensors;
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
    const fs::path file = files.outputs / fmt::format("output_{}.pb", i);
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
  PIPESCOPE_ASSIGN(const Tensors inputs, readInputs(*model, files));
  numerics::ThreadPool pool(files.threads > 0 ? files.threads : numerics::ThreadPool::hardwareThreads());
  numerics::InterpreterOptions options;
  options.identity.seed = files.seed;
  numerics::Interpreter interpreter(model, ops::standardOperators(), pool, options);
  PIPESCOPE_ASSIGN(const Tensors outputs, interpreter.run(inputs));
  return writeOutputs(*model, outputs, files);
}

}  // namespace pipescope::app
