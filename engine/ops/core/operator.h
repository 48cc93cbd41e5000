#pragma once
// Defines operators: an ONNX type with its shape inference, kernel, gradient and Work. Each operator is a
// file that says PIPESCOPE_REGISTER_OPERATOR(file_name) { registry.add({...}); }; the build finds it.
// README.md explains how to write one.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/ops/core/work.h"
#include "profiler/base/executor.h"
#include "profiler/base/result.h"

namespace pipescope::ops {

using base::Result;
using base::Status;
using graph::Node;
using graph::Shape;
using graph::TensorType;

class GradientBuilder;

/// One node with the types of its inputs (and, once inferred, of its outputs).
struct OperatorCall {
  const Node& node;
  std::vector<const TensorType*> inputs;  ///< null: an optional input that is left out
  /// Value of each input if the graph knows it; otherwise null.
  std::vector<const std::vector<std::byte>*> constants;
  std::vector<TensorType> outputs;   ///< empty while types are inferred
  std::size_t requestedOutputs = 1;  ///< number of outputs that the node asks for

  bool has(std::size_t input) const { return input < inputs.size() && inputs[input] != nullptr; }
  /// The type of an input that is present.
  const TensorType& input(std::size_t index) const;
  /// "Conv layer1/conv", with which every error sentence begins.
  std::string title() const;
  /// The value of an int64 or int32 input that is a constant; fails with a sentence if it is not one.
  Result<std::vector<std::int64_t>> constantInts(std::size_t index, const std::string& what) const;
};

/// Identifies a run. Together with the node's name it is the key of random numbers
/// (engine/ops/core/random.h).
struct RunIdentity {
  std::uint64_t seed = 0;
  std::int64_t iteration = 0;
  std::int64_t microBatch = 0;  ///< number within the iteration
  std::int64_t replica = 0;
  /// Kernels in float16 and bfloat16 round up with a probability equal to the distance from the number below,
  /// divided by the gap. The random numbers are keyed by the fields above. If false, they round to nearest
  /// even.
  bool stochasticRounding = false;
};

/// The buffers of one run of a kernel. All are row-major and dense. Buffers of the arena start at multiples
/// of 64 bytes; inputs that belong to the caller may start anywhere that their element type allows.
struct KernelArguments {
  std::span<const std::span<const std::byte>> inputs;  ///< an input without data() is left out
  std::span<const std::span<std::byte>> outputs;
  /// Kernel::scratchBytes bytes with undefined contents, from a multiple of 64 bytes on.
  std::span<std::byte> scratch;
  RunIdentity identity;
  base::Executor* executor = nullptr;  ///< null: the kernel works alone

  /// Calls body(0) … body(count − 1) on the executor's threads. `count` must follow from shapes alone, and no
  /// two calls may write to the same place, so that the bits do not depend on threads.
  template <class Body>
  void parallel(std::int64_t count, const Body& body) const {
    if (!executor || count <= 1) {
      for (std::int64_t i = 0; i < count; ++i) body(i);
      return;
    }
    const auto one = [&body](std::size_t i) { body(static_cast<std::int64_t>(i)); };
    executor->parallelFor(static_cast<std::size_t>(count),
                          std::ref(one));  // captures by reference, so nothing is allocated
  }

  template <class T>
  const T* input(std::size_t index) const {
    if (index >= inputs.size() || inputs[index].data() == nullptr) return nullptr;
    return reinterpret_cast<const T*>(inputs[index].data());
  }
  template <class T>
  T* output(std::size_t index) const {
    if (index >= outputs.size() || outputs[index].data() == nullptr) return nullptr;
    return reinterpret_cast<T*>(outputs[index].data());
  }
  template <class T>
  T* scratchAs() const {
    return reinterpret_cast<T*>(scratch.data());
  }
};

/// A node that is ready to run: its attributes are read and its sizes known. Several threads may call `run`
/// at once with different arguments. It allocates nothing, writes every element of every output, and gives
/// the same bits for any thread, alignment and address. It fails only for values that the operator cannot
/// take, such as a label outside its classes.
struct Kernel {
  std::function<Status(const KernelArguments&)> run;
  std::int64_t scratchBytes = 0;
};

/// Kinds of attributes, in the order of the alternatives of graph::Attribute.
enum class AttributeKind : std::uint8_t { integer, real, text, integers, reals, texts, tensor, graph };

struct AttributeRule {
  std::string name;
  AttributeKind kind = AttributeKind::integer;
};

struct OperatorDefinition {
  std::string type;  ///< ONNX's name, or Grad… for an operator that only gradients need
  /// Every attribute that it honours; any other attribute or kind is refused.
  std::vector<AttributeRule> attributes;
  std::size_t minInputs = 1, maxInputs = 1;
  std::size_t maxOutputs = 1;

  /// Infers the types of all requested outputs.
  Result<std::vector<TensorType>> (*infer)(const OperatorCall&) = nullptr;
  /// Null if the operator can be shaped and emulated but not computed.
  Result<Kernel> (*kernel)(const OperatorCall&) = nullptr;
  /// Returns the Work that the operator is made of. A forward operator lists its forward part only; its
  /// gradient operators list the rest.
  std::vector<Work> (*work)(const OperatorCall&) = nullptr;
  /// Adds the nodes that compute the wanted input gradients. Null: the operator is not differentiable.
  Status (*gradient)(GradientBuilder&) = nullptr;
  /// The input whose memory output 0 may take over, if the kernel reads an element before it writes it; −1:
  /// none.
  int inPlaceInput = -1;
  /// The input over which frameworks for cards write output 0, once nothing else reads it, although the Work
  /// is more than a Map; −1: none. States its source.
  int replacedInput = -1;
  /// The kernel with max(·, 0) applied to output 0, for a Relu that alone reads it. Null: the Relu runs by
  /// itself.
  Result<Kernel> (*kernelWithRelu)(const OperatorCall&) = nullptr;
};

class OperatorRegistry {
 public:
  /// Each type may be added once.
  void add(OperatorDefinition definition);
  /// Returns the operator of this type; null if there is none.
  const OperatorDefinition* find(const std::string& type) const;
  /// The node's definition; fails with a sentence that names similar operators.
  Result<const OperatorDefinition*> require(const Node& node) const;
  std::vector<std::string> types() const;

 private:
  std::map<std::string, OperatorDefinition> definitions_;
};

/// The call of a node of the graph, with its outputs.
OperatorCall callOf(const graph::Graph& graph, const Node& node);

/// Infers the types of the requested outputs. First checks operator, inputs and attribute names, and that no
/// extent is negative.
Result<std::vector<TensorType>> inferCall(const OperatorCall& call, const OperatorRegistry& registry);

/// Infers the output types of a node whose inputs are in the graph. First checks operator, inputs and
/// attribute names.
Result<std::vector<TensorType>> inferOutputs(const graph::Graph& graph, const Node& node, std::size_t outputs,
                                             const OperatorRegistry& registry);

/// Infers a node's outputs, adds them to the graph as tensors with the given names and role, and appends the
/// node. Returns the ids of the outputs.
Result<std::vector<graph::TensorId>> appendNode(graph::Graph& graph, Node node,
                                                const std::vector<std::string>& outputNames,
                                                graph::TensorRole role, const OperatorRegistry& registry);

/// Runs graph::validate and checks that the output types of every node are those that its operator infers.
Status checkShapes(const graph::Graph& graph, const OperatorRegistry& registry);

/// The Work of a node of a checked graph.
Result<std::vector<Work>> workOf(const graph::Graph& graph, const Node& node,
                                 const OperatorRegistry& registry);

}  // namespace pipescope::ops

#define PIPESCOPE_REGISTER_OPERATOR(name)           \
  void register_##name(OperatorRegistry& registry); \
  void register_##name(OperatorRegistry& registry)
