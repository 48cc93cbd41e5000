#pragma once
// What an operator is: its ONNX type, shape inference, kernel, gradient and Work. One file an operator; each
// file says PIPESCOPE_REGISTER_OPERATOR(file_name) { registry.add({...}); } and is found by the build.
// README.md tells how.
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
  std::vector<const TensorType*> inputs;                 ///< null: optional input left out
  std::vector<const std::vector<std::byte>*> constants;  ///< per input: its value where the graph knows it
  std::vector<TensorType> outputs;                       ///< empty during inference
  std::size_t requestedOutputs = 1;                      ///< how many outputs the node asks for

  bool has(std::size_t input) const { return input < inputs.size() && inputs[input] != nullptr; }
  /// Type of an input that is there.
  const TensorType& input(std::size_t index) const;
  /// "Conv layer1/conv", the start of every error sentence.
  std::string title() const;
  /// The value of an int64 or int32 input that is a constant; an error sentence where it is not.
  Result<std::vector<std::int64_t>> constantInts(std::size_t index, const std::string& what) const;
};

/// Which run this is: what random numbers are keyed by, besides the node's name (engine/ops/core/random.h).
struct RunIdentity {
  std::uint64_t seed = 0;
  std::int64_t iteration = 0;
  std::int64_t microBatch = 0;  ///< within the iteration
  std::int64_t replica = 0;
  /// Kernels in float16 and bfloat16 round results up with a probability that is their distance from the
  /// number below over the gap, by random numbers keyed by the fields above; off: to nearest even.
  bool stochasticRounding = false;
};

/// Buffers of one run of a kernel. All are row-major and dense; those of the arena start at multiples of 64
/// bytes, inputs that belong to the caller may start anywhere their element type allows.
struct KernelArguments {
  std::span<const std::span<const std::byte>> inputs;  ///< without data(): left out
  std::span<const std::span<std::byte>> outputs;
  std::span<std::byte>
      scratch;  ///< of Kernel::scratchBytes; starts at a multiple of 64 bytes; contents undefined
  RunIdentity identity;
  base::Executor* executor = nullptr;  ///< null: the kernel works alone

  /// Calls body(0) … body(count − 1) on the executor's threads. `count` must come from shapes alone, and no
  /// two calls may write to the same place: then the bits do not depend on threads.
  template <class Body>
  void parallel(std::int64_t count, const Body& body) const {
    if (!executor || count <= 1) {
      for (std::int64_t i = 0; i < count; ++i) body(i);
      return;
    }
    const auto one = [&body](std::size_t i) { body(static_cast<std::int64_t>(i)); };
    executor->parallelFor(static_cast<std::size_t>(count),
                          std::ref(one));  // by reference: nothing to allocate
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

/// A node made ready to run: attributes read, sizes known. `run` may be called from several threads at once
/// with different arguments, allocates nothing, writes every element of every output, and gives the same bits
/// whatever thread, alignment or address it gets. It fails only for values that the operator cannot take (a
/// label outside its classes).
struct Kernel {
  std::function<Status(const KernelArguments&)> run;
  std::int64_t scratchBytes = 0;
};

/// In the order of graph::Attribute's alternatives.
enum class AttributeKind : std::uint8_t { integer, real, text, integers, reals, texts, tensor, graph };

struct AttributeRule {
  std::string name;
  AttributeKind kind = AttributeKind::integer;
};

struct OperatorDefinition {
  std::string type;  ///< ONNX's name, or Grad…
  std::vector<AttributeRule>
      attributes;  ///< every attribute it honours; others, and other kinds, are refused
  std::size_t minInputs = 1, maxInputs = 1;
  std::size_t maxOutputs = 1;

  /// Types of all requested outputs.
  Result<std::vector<TensorType>> (*infer)(const OperatorCall&) = nullptr;
  /// Null where the operator can be shaped and emulated but not computed.
  Result<Kernel> (*kernel)(const OperatorCall&) = nullptr;
  /// What the operator is made of; forward operators list their forward part only, their gradient operators
  /// the rest.
  std::vector<Work> (*work)(const OperatorCall&) = nullptr;
  /// Adds the nodes that make the wanted input gradients. Null: not differentiable.
  Status (*gradient)(GradientBuilder&) = nullptr;
  /// Input whose memory output 0 may take over, for kernels that read an element before they write it; −1:
  /// none.
  int inPlaceInput = -1;
  /// The kernel with max(·, 0) applied to output 0, for a Relu that alone reads it. Null: the Relu runs by
  /// itself.
  Result<Kernel> (*kernelWithRelu)(const OperatorCall&) = nullptr;
};

class OperatorRegistry {
 public:
  /// A type may be added once.
  void add(OperatorDefinition definition);
  /// Null where there is none.
  const OperatorDefinition* find(const std::string& type) const;
  /// The node's definition, or a sentence that lists what there is.
  Result<const OperatorDefinition*> require(const Node& node) const;
  std::vector<std::string> types() const;

 private:
  std::map<std::string, OperatorDefinition> definitions_;
};

/// The call of a node that stands in the graph, outputs filled in.
OperatorCall callOf(const graph::Graph& graph, const Node& node);

/// Infers the types of a call's requested outputs; checks operator, inputs and attribute names first, and
/// that no extent is negative.
Result<std::vector<TensorType>> inferCall(const OperatorCall& call, const OperatorRegistry& registry);

/// Infers the output types of a node whose inputs stand in the graph; checks operator, inputs and attribute
/// names first.
Result<std::vector<TensorType>> inferOutputs(const graph::Graph& graph, const Node& node, std::size_t outputs,
                                             const OperatorRegistry& registry);

/// Infers a node's outputs, adds them to the graph as tensors of the given names and role, then appends the
/// node. Returns the outputs' ids.
Result<std::vector<graph::TensorId>> appendNode(graph::Graph& graph, Node node,
                                                const std::vector<std::string>& outputNames,
                                                graph::TensorRole role, const OperatorRegistry& registry);

/// graph::validate, and every node's output types are what its operator infers.
Status checkShapes(const graph::Graph& graph, const OperatorRegistry& registry);

/// The Work of a node of a checked graph.
Result<std::vector<Work>> workOf(const graph::Graph& graph, const Node& node,
                                 const OperatorRegistry& registry);

}  // namespace pipescope::ops

#define PIPESCOPE_REGISTER_OPERATOR(name)           \
  void register_##name(OperatorRegistry& registry); \
  void register_##name(OperatorRegistry& registry)
