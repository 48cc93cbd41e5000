#pragma once
// Inference with dynamic shapes: walks a model node by node with actual values, so that shapes may depend on
// them; If, Loop and Scan run their graphs. Slower to start a node than Program, which plans everything once.
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/onnx/evaluate.h"
#include "engine/onnx/model.h"
#include "engine/ops/core/operator.h"
#include "profiler/base/executor.h"
#include "profiler/base/result.h"

namespace pipescope::numerics {

/// Half of the machine's memory, 8 GiB at most.
std::int64_t affordableBytes();

struct InterpreterOptions {
  ops::RunIdentity identity;  ///< of random operators
  /// Bytes of all values alive at once, without the model's own constants; beyond, a sentence.
  std::int64_t maxBytes = affordableBytes();
  /// Nodes run in one call, those of loops each time: what ends a loop that never ends.
  std::int64_t maxSteps = std::int64_t{1} << 24;
};

class Interpreter {
 public:
  /// `registry` and `executor` must outlive the interpreter.
  Interpreter(std::shared_ptr<const onnx::Model> model, const ops::OperatorRegistry& registry,
              base::Executor& executor, InterpreterOptions options = {});

  /// One call: a value for each of the model's inputs, in order; gives those of its outputs. Nodes that do
  /// not depend on each other run side by side; results do not depend on the number of threads. Errors:
  /// inputs that are not what the model declares, what an operator refuses, limits.
  base::Result<std::vector<graph::TensorValue>> run(const std::vector<graph::TensorValue>& inputs);

 private:
  friend class GraphRun;
  using Values = onnx::Values;

  /// How a graph is run: who waits for whom. Made once per graph.
  struct Schedule {
    std::vector<std::size_t> missing;               ///< by node: nodes it waits for
    std::vector<std::vector<std::size_t>> readers;  ///< by node: nodes that wait for it
    std::vector<std::size_t> uses;                  ///< by value: reads, outputs of the graph included
    std::vector<std::size_t> ready;                 ///< nodes that wait for none
  };

  base::Status checkInputs(const std::vector<graph::TensorValue>& inputs) const;
  const Schedule& scheduleOf(const onnx::ModelGraph& graph);
  /// What a graph runs within: the values of the graph around it and the path of loops and branches
  /// ("loop/3/"), by which random operators draw anew in each iteration, the same numbers as where the loop
  /// is unrolled.
  struct Place {
    const Values& outer;
    const std::string& path;
  };
  base::Result<Values> runGraph(const onnx::ModelGraph& graph, Values inputs, const Values& captured,
                                const std::string& path);
  base::Result<Values> runNode(const onnx::ModelNode& node, const Place& place);
  base::Result<Values> runIf(const onnx::ModelNode& node, const Values& inputs, const Place& place);
  base::Result<Values> runLoop(const onnx::ModelNode& node, const Values& inputs, const Place& place);
  base::Result<Values> runScan(const onnx::ModelNode& node, const Values& inputs, const Place& place);
  onnx::Evaluation evaluation() const;
  /// The same value; its bytes count as long as somebody holds it.
  std::shared_ptr<const graph::TensorValue> counted(std::shared_ptr<const graph::TensorValue> value);

  std::shared_ptr<const onnx::Model> model_;
  const ops::OperatorRegistry& registry_;
  base::Executor& executor_;
  InterpreterOptions options_;
  std::mutex mutex_;
  std::map<const onnx::ModelGraph*, std::unique_ptr<const Schedule>> schedules_;
  std::shared_ptr<std::atomic<std::int64_t>> liveBytes_ = std::make_shared<std::atomic<std::int64_t>>(0);
  std::atomic<std::int64_t> steps_ = 0;
};

}  // namespace pipescope::numerics
