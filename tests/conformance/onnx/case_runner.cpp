#include "case_runner.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "compare.h"
#include "engine/numerics/graph_program.h"
#include "engine/numerics/interpreter/interpreter.h"
#include "engine/onnx/instantiate.h"
#include "engine/onnx/reader.h"
#include "engine/ops/standard_operators.h"
#include "random_judge.h"

namespace pipescope::conformance {
namespace {

namespace fs = std::filesystem;
using Tensors = std::vector<graph::TensorValue>;

/// The values of a data set. NumPy has no bfloat16, so files hold its bits as uint16 if the model says
/// bfloat16.
base::Result<Tensors> readTensors(const fs::path& folder, const std::string& prefix,
                                  const onnx::OnnxGraph& graph, const std::vector<onnx::ValueId>& declared) {
  Tensors tensors;
  for (int i = 0; fs::exists(folder / fmt::format("{}_{}.pb", prefix, i)); ++i) {
    PIPESCOPE_ASSIGN(graph::TensorValue value,
                     onnx::readTensorFile(folder / fmt::format("{}_{}.pb", prefix, i)));
    const auto place = static_cast<std::size_t>(i);
    const auto element = place < declared.size() ? graph.value(declared[place]).element : std::nullopt;
    if (element == graph::ElementType::bfloat16 && value.type.element == graph::ElementType::uint16)
      value.type.element = *element;
    tensors.push_back(std::move(value));
  }
  return tensors;
}

base::Result<Tensors> interpret(const std::shared_ptr<const onnx::Model>& model, const Tensors& inputs) {
  base::SerialExecutor executor;
  return numerics::Interpreter(model, ops::standardOperators(), executor).run(inputs);
}

base::Result<Tensors> instantiateAndRun(const onnx::Model& model, const Tensors& inputs) {
  onnx::InstantiateOptions options;
  options.training = true;  // keep dropout and batch norm as the file has them
  PIPESCOPE_ASSIGN(const onnx::Instance instance,
                   onnx::instantiate(model, ops::standardOperators(), options));
  PIPESCOPE_ASSIGN(const numerics::GraphProgram program,
                   numerics::GraphProgram::create(instance.graph, ops::standardOperators()));
  std::vector<std::span<const std::byte>> spans, weights;
  for (const graph::TensorValue& input : inputs) spans.emplace_back(input.bytes);
  for (const graph::TensorId id : program.weights())
    weights.emplace_back(instance.graph.initializer(id).values->bytes);
  numerics::Workspace workspace = program.makeWorkspace();
  const numerics::Bindings bindings{spans, weights, {}, {}};
  PIPESCOPE_TRY(program.run(bindings, workspace));
  Tensors outputs;
  for (std::size_t i = 0; i < instance.graph.outputs.size(); ++i) {
    const auto bytes = program.output(workspace, bindings, i);
    outputs.push_back({instance.graph.tensor(instance.graph.outputs[i]).type, {bytes.begin(), bytes.end()}});
  }
  return outputs;
}

std::string firstType(const Tensors& inputs, const Tensors& outputs) {
  const Tensors& from = inputs.empty() ? outputs : inputs;
  return from.empty() ? "" : graph::toString(from[0].type.element);
}

/// A model that could be read must run. From here on, only values may be refused.
Outcome runDataSet(const std::shared_ptr<const onnx::Model>& model, const fs::path& folder, Way way) {
  const auto inputs = readTensors(folder, "input", model->graph, model->graph.inputs);
  if (!inputs.ok()) return {Verdict::refused, inputs.error().message};
  const auto expected = readTensors(folder, "output", model->graph, model->graph.outputs);
  if (!expected.ok()) return {Verdict::refused, expected.error().message};
  const auto outputs =
      way == Way::interpreted ? interpret(model, *inputs) : instantiateAndRun(*model, *inputs);
  if (!outputs.ok()) return {Verdict::refused, outputs.error().message};
  if (outputs->size() != expected->size())
    return {Verdict::wrong, fmt::format("{} outputs, expected {}", outputs->size(), expected->size())};
  if (isRandomCase(model->graph, *inputs)) {
    const std::string fault = judgeRandom(model->graph, *inputs, *outputs, *expected);
    return {fault.empty() ? Verdict::passed : Verdict::wrong,
            fault.empty() ? firstType(*inputs, *expected) : fault};
  }
  for (std::size_t i = 0; i < outputs->size(); ++i) {
    const std::string fault = difference((*outputs)[i], (*expected)[i]);
    if (!fault.empty()) return {Verdict::wrong, fmt::format("output {} {}", i, fault)};
  }
  return {Verdict::passed, firstType(*inputs, *expected)};
}

}  // namespace

Outcome runCase(const fs::path& folder, Way way) {
  auto read = onnx::readModel(folder / "model.onnx", ops::standardOperators());
  if (!read.ok()) return {Verdict::refused, read.error().message};
  const auto model = std::make_shared<const onnx::Model>(std::move(*read));
  int sets = 0;
  Outcome outcome;
  for (; fs::exists(folder / fmt::format("test_data_set_{}", sets)); ++sets) {
    outcome = runDataSet(model, folder / fmt::format("test_data_set_{}", sets), way);
    if (outcome.verdict != Verdict::passed) return outcome;
  }
  return sets > 0 ? outcome : Outcome{Verdict::wrong, "the case has no data set"};
}

Outcome runIsolated(const fs::path& folder, Way way) {
  int ends[2];
  if (pipe(ends) != 0) return {Verdict::crashed, "no pipe"};
  const pid_t child = fork();
  if (child < 0) return {Verdict::crashed, "no process"};
  if (child == 0) {
    close(ends[0]);
    alarm(60);
    const Outcome outcome = runCase(folder, way);
    const std::string text = std::string(1, static_cast<char>('0' + static_cast<int>(outcome.verdict))) +
                             outcome.sentence.substr(0, 2000);
    const bool sent = write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size());
    _exit(sent ? 0 : 9);
  }
  close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t got = 0; (got = read(ends[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(got));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) return {Verdict::crashed, strsignal(WTERMSIG(status))};
  if (text.empty() || WEXITSTATUS(status) != 0)
    return {Verdict::crashed, fmt::format("exit status {}", WEXITSTATUS(status))};
  return {static_cast<Verdict>(text[0] - '0'), text.substr(1)};
}

}  // namespace pipescope::conformance
