#pragma once
// Runs the nodes of one graph, each as soon as all its inputs have values.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/onnx/evaluate.h"
#include "engine/onnx/model.h"
#include "profiler/base/executor.h"
#include "profiler/base/result.h"

namespace pipescope::numerics {

/// Order in which the nodes of a graph wait for others. It depends on the graph alone, so that one order
/// serves all runs of that graph.
struct NodeOrder {
  explicit NodeOrder(const onnx::OnnxGraph& graph);

  std::vector<std::size_t> missing;               ///< number of nodes that each node waits for
  std::vector<std::vector<std::size_t>> readers;  ///< nodes that wait for each node
  /// Number of reads of a value; an output of the graph counts as a read.
  base::IdVector<onnx::ValueId, std::size_t> uses;
  std::vector<std::size_t> ready;  ///< nodes that wait for no other
};

class GraphRun {
 public:
  /// Computes the outputs of a node from the values of the graph so far, which are indexed by ValueId.
  /// Several threads call it at once.
  using NodeFunction =
      std::function<base::Result<onnx::Values>(const onnx::OnnxNode& node, const onnx::ValuesById& values)>;

  /// All arguments must outlive the run.
  GraphRun(const onnx::OnnxGraph& graph, const NodeOrder& order, base::Executor& executor);

  void set(onnx::ValueId id, std::shared_ptr<const graph::TensorValue> value);

  /// Runs all nodes and returns the graph's outputs. Nodes that are ready at the same time run in parallel. A
  /// value is freed after its last use.
  base::Result<onnx::Values> run(const NodeFunction& runNode);

 private:
  base::Status runWave(const std::vector<std::size_t>& wave, const NodeFunction& runNode);
  void release(const onnx::OnnxNode& node);

  const onnx::OnnxGraph& graph_;
  const NodeOrder& order_;
  base::Executor& executor_;
  std::vector<std::size_t> missing_;
  base::IdVector<onnx::ValueId, std::size_t> uses_;
  onnx::ValuesById values_;
};

}  // namespace pipescope::numerics
