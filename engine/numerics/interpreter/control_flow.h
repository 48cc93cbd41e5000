#pragma once
// If, Loop and Scan: the operators that run graphs within a graph. They know the interpreter only as a
// GraphRunner. Source of the rules: ONNX's Operators.md, opset 16.
#include <cstdint>
#include <memory>
#include <string>

#include "engine/onnx/evaluate.h"
#include "engine/onnx/model.h"
#include "profiler/base/result.h"

namespace pipescope::numerics {

using ValuePointer = std::shared_ptr<const graph::TensorValue>;

/// Interface that control flow needs from whoever runs graphs.
class GraphRunner {
 public:
  virtual ~GraphRunner() = default;
  /// Runs a graph and returns its outputs. `captured` has one value for each entry of the graph's list of
  /// captured values. `path` is the place of this run, for example "loop/3/": random operators use it to draw
  /// other numbers in each iteration, and the same numbers as in an unrolled loop.
  virtual base::Result<onnx::Values> runGraph(const onnx::OnnxGraph& graph, onnx::Values inputs,
                                              const onnx::Values& captured, const std::string& path) = 0;
  /// Counts one node (or one iteration) towards the limit that ends endless loops; an error beyond it.
  virtual base::Status countStep(const onnx::OnnxNode& node) = 0;
  /// Bytes that new values may still take.
  virtual std::int64_t bytesLeft() const = 0;
  /// Returns the same value; its bytes count as used while anybody holds the result.
  virtual ValuePointer counted(ValuePointer value) = 0;
};

/// A control-flow node in the run of the graph that holds it.
struct ControlFlowCall {
  const onnx::OnnxNode& node;
  onnx::Values inputs;
  const onnx::ValuesById& outer;  ///< values of the graph that holds the node
  const std::string& path;        ///< path of the graph that holds the node

  /// "Loop name", for error sentences.
  std::string title() const;
};

/// A graph of a control-flow node together with the outer values that it reads.
struct Body {
  const onnx::OnnxGraph* graph = nullptr;
  onnx::Values captured;
};
/// Returns the graph in the attribute `name`. Errors: the node has no graph of that name, or the graph has
/// other numbers of inputs and outputs.
base::Result<Body> bodyOf(const ControlFlowCall& call, const std::string& name, std::size_t inputs,
                          std::size_t outputs);

/// The value of one bool. `what` names it in the error sentence.
base::Result<bool> truthOf(const ControlFlowCall& call, const ValuePointer& value, const std::string& what);

/// Each returns the outputs of the node.
base::Result<onnx::Values> runIf(const ControlFlowCall& call, GraphRunner& runner);
base::Result<onnx::Values> runLoop(const ControlFlowCall& call, GraphRunner& runner);
base::Result<onnx::Values> runScan(const ControlFlowCall& call, GraphRunner& runner);

}  // namespace pipescope::numerics
