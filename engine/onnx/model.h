#pragma once
// A model as it was read from an ONNX file, free of protobuf: operators of opset 17, values by index, outer
// values that a sub-graph reads made explicit, nodes in an order in which they can run.
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

/// One extent of a declared shape: a number, or a symbol ("batch", or empty: nameless) to be bound later.
struct Dimension {
  std::optional<std::int64_t> extent;
  std::string symbol;
};

struct ModelValue {
  std::string name;
  std::optional<ElementType> element;           ///< where the file says it
  std::optional<std::vector<Dimension>> shape;  ///< likewise
};

struct ModelGraph;

struct ModelNode {
  std::string op;                        ///< ONNX's name; its meaning is opset 17's
  std::string name;                      ///< unique in the model
  std::vector<ValueId> inputs, outputs;  ///< not valid: left out
  graph::Attributes attributes;
  /// Bodies of If, Loop and Scan by attribute name.
  std::map<std::string, std::shared_ptr<const ModelGraph>> bodies;
};

struct ModelGraph {
  std::string name;
  std::vector<ModelValue> values;
  std::vector<ValueId> inputs;  ///< the graph's own, without those that have an initializer
  /// Values of the enclosing graph that this one, or a graph within it, reads: outer, inner.
  std::vector<std::pair<ValueId, ValueId>> captured;
  std::vector<ValueId> outputs;
  /// Initializers and Constant nodes. `weights` are those of the file's initializers.
  std::map<ValueId, std::shared_ptr<const TensorValue>> constants;
  std::vector<ValueId> weights;
  std::vector<ModelNode> nodes;

  const ModelValue& value(ValueId id) const { return values[static_cast<std::size_t>(id.value)]; }
};

struct Model {
  std::string file;  ///< for sentences
  std::int64_t opset = 17;
  ModelGraph graph;
};

/// Operators that hold graphs; the interpreter and instantiate() carry them out themselves.
bool isControlFlow(const std::string& op);

/// True for operators whose result differs from run to run, which must not be folded.
bool isRandom(const std::string& op);

}  // namespace pipescope::onnx
