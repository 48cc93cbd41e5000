#pragma once
// The graph: tensors and nodes in topological order. Operator types, attribute names and their meanings are
// those of ONNX. Operators that only gradients need are called Grad… (engine/ops/conventions.md).
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "engine/graph/tensor_type.h"
#include "profiler/base/ids.h"
#include "profiler/model/enums.h"

namespace pipescope::graph {

using TensorId = base::Id<struct TensorTag>;
using NodeId = base::Id<struct NodeTag>;

class Graph;

/// A tensor with its value, row-major and in host byte order.
struct TensorValue {
  TensorType type;
  std::vector<std::byte> bytes;
};

/// A graph attribute is the body of an If, Loop or Scan. The inputs of the body are those that the operator
/// defines, followed by the tensors of the outer graph that it reads. The inputs of the node end with the
/// same tensors.
using Attribute =
    std::variant<std::int64_t, double, std::string, std::vector<std::int64_t>, std::vector<double>,
                 std::vector<std::string>, std::shared_ptr<const TensorValue>, std::shared_ptr<const Graph>>;
using Attributes = std::map<std::string, Attribute>;

enum class TensorRole : std::uint8_t {
  input,       ///< streamed from the host for each micro-batch (samples, labels)
  parameter,   ///< trained weight, kept over the whole run
  constant,    ///< weight that is not trained
  activation,  ///< result of a forward node
  gradient,    ///< result of a backward node
};

struct Tensor {
  TensorId id;
  std::string name;
  TensorType type;
  TensorRole role = TensorRole::activation;
  NodeId producer;  ///< node that makes it; not valid for inputs, parameters and constants
};

struct Node {
  NodeId id;
  std::string op;     ///< "Conv", "Gemm", "GradConvWeight" …
  std::string name;   ///< unique; the path of the layer that it came from, "layer1/conv"
  std::string block;  ///< the block it belongs to; a gradient node has the block of its forward node
  model::Pass pass = model::Pass::forward;
  std::vector<TensorId> inputs;   ///< an id that is not valid stands for an optional input that is left out
  std::vector<TensorId> outputs;  ///< likewise
  Attributes attributes;
};

/// The initial value of a parameter. Values are drawn when numerics needs them.
struct Initializer {
  enum class Kind { zeros, ones, uniform, values, normal } kind = Kind::zeros;
  double bound = 0;  ///< uniform: values lie in [−bound, bound); normal: standard deviation
  /// Values of kind `values`; they have the type of the parameter.
  std::shared_ptr<const TensorValue> values;
};

/// A parameter that the forward pass updates instead of an optimizer, such as the running statistics of a
/// batch norm. A node computes result = keep·parameter + (1 − keep)·statistic. Each micro-batch does so with
/// a parameter of zeros. Afterwards, in ascending order of micro-batches, parameter ← keep·parameter +
/// scale·result.
struct StateUpdate {
  TensorId parameter, result;
  double keep = 0.9;
  double scale = 1;  ///< n / (n − 1) if the statistic is a variance that shall become unbiased
};

/// The value of a constant, which graphs share. A large one is made when numbers are computed, so that a
/// graph whose numbers nobody computes does not hold it.
class Constant {
 public:
  /// Facts of a value that is made later. lowerTriangle: a matrix of booleans, true where the column is not
  /// behind the row.
  enum class Pattern : std::uint8_t { none, lowerTriangle };

  explicit Constant(std::vector<std::byte> bytes);
  /// `make` gives as many bytes as the type needs, and the same ones each time.
  explicit Constant(std::function<std::vector<std::byte>()> make, Pattern pattern = Pattern::none);
  Pattern pattern() const;
  /// The bytes; null if they are made later. Code that compiles may look at these only.
  const std::vector<std::byte>* known() const;
  /// The bytes, which are made at the first call. Thread-safe.
  const std::vector<std::byte>& bytes() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

class Graph {
 public:
  TensorId addTensor(std::string name, TensorType type, TensorRole role);
  TensorId addParameter(std::string name, TensorType type, Initializer initializer);
  /// Adds a tensor whose value the graph holds. `bytes` are in row-major order and host byte order, as many
  /// as the type needs.
  TensorId addConstant(std::string name, TensorType type, std::vector<std::byte> value);
  /// The same with a value of another graph, or with one that is made later.
  TensorId shareConstant(std::string name, TensorType type, Constant value);
  /// Appends a node whose inputs exist. The outputs get this node as their producer.
  NodeId addNode(Node node);
  /// Makes room for so many tensors and nodes, or gives back what the graph has too much. A graph of a long
  /// model otherwise holds twice the memory that it needs.
  void reserve(std::size_t tensors, std::size_t nodes);
  void giveBackRoom();

  const std::vector<Tensor>& tensors() const { return tensors_.items(); }
  const std::vector<Node>& nodes() const { return nodes_.items(); }
  const Tensor& tensor(TensorId id) const;
  const Node& node(NodeId id) const;
  const Initializer& initializer(TensorId parameter) const;
  /// The value of a constant, or null if the tensor has none.
  const Constant* constant(TensorId id) const;
  /// The bytes of a constant, or null if the tensor has none or they are made later (Constant::known).
  const std::vector<std::byte>* constantValue(TensorId id) const;

  /// Tensors that the host streams in, in the order of the data set (samples, then labels).
  std::vector<TensorId> inputs;
  std::vector<TensorId> outputs;  ///< results of a call, for example predictions
  std::optional<TensorId> loss;   ///< scalar, mean over the micro-batch
  /// Gradient of each parameter for one micro-batch; filled by compile's gradients.
  std::map<TensorId, TensorId> parameterGradients;
  std::vector<StateUpdate> stateUpdates;  ///< training only

 private:
  base::IdVector<TensorId, Tensor> tensors_;
  base::IdVector<NodeId, Node> nodes_;
  std::map<TensorId, Initializer> initializers_;
  std::map<TensorId, Constant> constants_;
};

/// These return the fallback if the node does not have the attribute or has it with another type.
std::int64_t intAttribute(const Node& node, const std::string& name, std::int64_t fallback);
double floatAttribute(const Node& node, const std::string& name, double fallback);
std::string stringAttribute(const Node& node, const std::string& name, const std::string& fallback);
std::vector<std::int64_t> intsAttribute(const Node& node, const std::string& name,
                                        std::vector<std::int64_t> fallback);
std::vector<double> floatsAttribute(const Node& node, const std::string& name, std::vector<double> fallback);
std::vector<std::string> stringsAttribute(const Node& node, const std::string& name,
                                          std::vector<std::string> fallback);
/// Returns null if the node does not have the attribute.
const TensorValue* tensorAttribute(const Node& node, const std::string& name);

}  // namespace pipescope::graph
