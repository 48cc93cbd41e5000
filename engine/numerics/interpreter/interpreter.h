#pragma once
// Infers with an ONNX model whose shapes are dynamic. It runs the model node by node on actual values, so
// that shapes may depend on values, and it runs the graphs of If, Loop and Scan. A node starts more slowly
// than in a Program, which plans everything once.
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/numerics/interpreter/control_flow.h"
#include "engine/numerics/interpreter/graph_run.h"
#include "engine/onnx/evaluate.h"
#include "engine/onnx/model.h"
#include "engine/ops/core/operator.h"
#include "profiler/base/executor.h"
#include "profiler/base/result.h"

namespace pipescope::numerics {

/// Half of the machine's memory, at most 8 GiB.
std::int64_t affordableBytes();

struct InterpreterOptions {
  ops::RunIdentity identity;  ///< keys the numbers of random operators
  /// Limit of the bytes of all values that are alive at once, without the model's own constants.
  std::int64_t maxBytes = affordableBytes();
  /// Limit of the nodes that one call runs, which ends endless loops. A node in a loop counts in each
  /// iteration.
  std::int64_t maxSteps = std::int64_t{1} << 24;
};

class Interpreter : private GraphRunner {
 public:
  /// `registry` and `executor` must outlive the interpreter.
  Interpreter(std::shared_ptr<const onnx::Model> model, const ops::OperatorRegistry& registry,
              base::Executor& executor, InterpreterOptions options = {});

  /// Takes a value for each of the model's inputs, in order, and returns its outputs. Independent nodes run
  /// in parallel; the results do not depend on the number of threads. Errors: an input that does not match
  /// the model's declaration, an operator that refuses its inputs, a limit that is exceeded.
  base::Result<std::vector<graph::TensorValue>> run(const std::vector<graph::TensorValue>& inputs);

 private:
  base::Status checkInputs(const std::vector<graph::TensorValue>& inputs) const;
  const NodeOrder& orderOf(const onnx::OnnxGraph& graph);
  /// `values` are those of the graph that holds the node, `path` is that graph's place.
  base::Result<onnx::Values> runNode(const onnx::OnnxNode& node, const onnx::ValuesById& values,
                                     const std::string& path);

  base::Result<onnx::Values> runGraph(const onnx::OnnxGraph& graph, onnx::Values inputs,
                                      const onnx::Values& captured, const std::string& path) override;
  base::Status countStep(const onnx::OnnxNode& node) override;
  std::int64_t bytesLeft() const override;
  ValuePointer counted(ValuePointer value) override;

  std::shared_ptr<const onnx::Model> model_;
  const ops::OperatorRegistry& registry_;
  base::Executor& executor_;
  InterpreterOptions options_;
  std::mutex mutex_;
  std::map<const onnx::OnnxGraph*, std::unique_ptr<const NodeOrder>> orders_;
  std::shared_ptr<std::atomic<std::int64_t>> liveBytes_ = std::make_shared<std::atomic<std::int64_t>>(0);
  std::atomic<std::int64_t> steps_ = 0;
};

}  // namespace pipescope::numerics
