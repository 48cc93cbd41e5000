#pragma once
// A model as it was read from an ONNX file, without protobuf. Operators have opset 17, values have indices,
// the outer values that a sub-graph reads are listed, and nodes are in an order in which they can run.
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/graph/graph.h"
#include "profiler/base/ids.h"

namespace pipescope::onnx {

using graph::ElementType;
using graph::TensorType;
using graph::TensorValue;

/// Index into ModelGraph::values.
using ValueId = base::Id<struct OnnxValueTag>;

/// One extent of a declared shape: either a number or a symbol that gets its value later. The symbol may be
/// empty.
struct Dimension {
  std::optional<std::int64_t> extent;
  std::string symbol;
};

struct ModelValue {
  std::string name;
  std::optional<ElementType> element;           ///< none: the file does not declare it
  std::optional<std::vector<Dimension>> shape;  ///< none: the file does not declare it
};

struct OnnxGraph;

struct OnnxNode {
  std::string op;                        ///< name in ONNX; it means what it means in opset 17
  std::string name;                      ///< unique in the model
  std::vector<ValueId> inputs, outputs;  ///< an id that is not valid is left out
  graph::Attributes attributes;
  /// The graphs of an If, Loop or Scan, by attribute name.
  std::map<std::string, std::shared_ptr<const OnnxGraph>> bodies;
};

struct OnnxGraph {
  std::string name;
  base::IdVector<ValueId, ModelValue> values;
  std::vector<ValueId> inputs;  ///< inputs without those that have an initializer
  /// Values of the enclosing graph that this graph, or a graph within it, reads: the outer and the inner id.
  std::vector<std::pair<ValueId, ValueId>> captured;
  std::vector<ValueId> outputs;
  /// Values of initializers and Constant nodes. `weights` are the ids of the file's initializers.
  std::map<ValueId, std::shared_ptr<const TensorValue>> constants;
  std::vector<ValueId> weights;
  std::vector<OnnxNode> nodes;

  const ModelValue& value(ValueId id) const { return values[id]; }
};

/// The initializers whose values a reader takes: all, or those of at most 64 KiB, which suffice to see how a
/// model is built. A large one then has its type, and no entry in OnnxGraph::constants.
enum class Weights { all, small };

struct Model {
  std::string file;  ///< name for error sentences
  std::int64_t opset = 17;
  OnnxGraph graph;
};

/// True for operators that hold graphs. The interpreter and instantiate() run them themselves.
bool isControlFlow(const std::string& op);

/// True for operators whose result differs from run to run, so that they must not be folded.
bool isRandom(const std::string& op);

}  // namespace pipescope::onnx
