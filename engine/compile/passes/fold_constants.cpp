// Computes nodes whose inputs are all constants while compiling. It uses the same kernels as a run, so the
// bits are the same.
#include <algorithm>
#include <new>
#include <span>

#include "engine/compile/passes/graph_edit.h"

namespace pipescope::compile {
namespace {

using graph::Node;
using graph::TensorId;

/// A constant occupies memory all the time. A result that is larger than this and larger than its inputs is
/// therefore not folded.
constexpr std::int64_t kLargestGrowth = 1 << 20;
constexpr std::size_t kAlignment = 64;

struct AlignedFree {
  void operator()(std::byte* memory) const { ::operator delete[](memory, std::align_val_t{kAlignment}); }
};

std::span<const std::byte> spanOf(const std::vector<std::byte>& bytes) {
  static constexpr std::byte kNothing{};  // a tensor without elements has an address too
  return bytes.empty() ? std::span(&kNothing, 0) : std::span(bytes);
}

class Folding {
 public:
  Folding(const graph::Graph& graph, const PassContext& context)
      : graph_(graph), context_(context), results_(resultsOf(graph)) {}

  base::Status run() {
    for (const Node& node : graph_.nodes()) PIPESCOPE_TRY(visit(node));
    return {};
  }
  const GraphEdit& edit() const { return edit_; }
  PassEffect& effect() { return effect_; }

 private:
  const std::vector<std::byte>* valueOf(TensorId id) const {
    const auto known = edit_.constants.find(id);
    return known != edit_.constants.end() ? &known->second : fixedValue(graph_, id);
  }

  bool mayFold(const Node& node) const {
    std::int64_t given = 0, made = 0;
    for (const TensorId input : node.inputs) {
      if (!input.valid()) continue;
      if (!valueOf(input)) return false;
      given += graph_.tensor(input).type.bytes().count;
    }
    for (const TensorId output : node.outputs) {
      if (!output.valid()) continue;
      if (output.valid() && results_[output]) return false;
      made += graph_.tensor(output).type.bytes().count;
    }
    return made <= std::max(given, kLargestGrowth);
  }

  base::Status visit(const Node& node) {
    if (!mayFold(node)) return {};
    PIPESCOPE_ASSIGN(const bool deterministic, isDeterministic(graph_, node, context_));
    const ops::OperatorDefinition* definition = context_.registry.find(node.op);
    if (!deterministic || !definition || !definition->kernel) return {};
    std::map<TensorId, std::vector<std::byte>> made;
    // If a node cannot be computed, the run will report why.
    if (!compute(node, *definition, made).ok()) return {};
    for (auto& [id, bytes] : made) {
      effect_.bytes -= base::Bytes(static_cast<std::int64_t>(bytes.size()));
      edit_.constants[id] = std::move(bytes);
    }
    edit_.dropped.insert(node.id);
    ++effect_.changes;
    return addRemoved(effect_, graph_, node, context_);
  }

  base::Status compute(const Node& node, const ops::OperatorDefinition& definition,
                       std::map<TensorId, std::vector<std::byte>>& made) const {
    ops::OperatorCall call = ops::callOf(graph_, node);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i].valid()) call.constants[i] = valueOf(node.inputs[i]);
    }
    PIPESCOPE_ASSIGN(const ops::Kernel kernel, definition.kernel(call));
    std::vector<std::span<const std::byte>> inputs;
    std::vector<std::span<std::byte>> outputs;
    for (const TensorId id : node.inputs)
      inputs.push_back(id.valid() ? spanOf(*valueOf(id)) : std::span<const std::byte>());
    for (const TensorId id : node.outputs) {
      if (!id.valid()) {
        outputs.emplace_back();
        continue;
      }
      std::vector<std::byte>& bytes = made[id];
      bytes.resize(static_cast<std::size_t>(graph_.tensor(id).type.bytes().count));
      outputs.emplace_back(bytes);
    }
    if (std::ranges::all_of(outputs, [](const auto& output) { return output.empty(); })) return {};
    const auto size = static_cast<std::size_t>(kernel.scratchBytes);
    const std::unique_ptr<std::byte[], AlignedFree> scratch(new (std::align_val_t{kAlignment})
                                                                std::byte[std::max<std::size_t>(1, size)]);
    ops::KernelArguments arguments;
    arguments.inputs = inputs;
    arguments.outputs = outputs;
    arguments.scratch = {scratch.get(), size};
    return kernel.run(arguments);
  }

  const graph::Graph& graph_;
  const PassContext& context_;
  base::IdVector<TensorId, bool> results_;
  GraphEdit edit_;
  PassEffect effect_;
};

/// Bytes of all constants. Folding frees those that only folded nodes read.
std::int64_t constantBytes(const graph::Graph& graph) {
  std::int64_t bytes = 0;
  for (const graph::Tensor& tensor : graph.tensors())
    bytes += tensor.role == graph::TensorRole::constant ? tensor.type.bytes().count : 0;
  return bytes;
}

base::Result<PassEffect> foldConstants(graph::Graph& graph, const PassContext& context) {
  Folding folding(graph, context);
  PIPESCOPE_TRY(folding.run());
  PassEffect effect = std::move(folding.effect());
  effect.counts = "nodes computed by the compiler";
  if (effect.changes == 0) return effect;
  const std::int64_t before = constantBytes(graph);
  graph = applied(graph, folding.edit());
  effect.bytes = base::Bytes(before - constantBytes(graph));
  return effect;
}

}  // namespace

PIPESCOPE_REGISTER_PASS(fold_constants) {
  registry.add({"fold_constants", "Nodes that read constants only are computed once, by the compiler.", 10,
                foldConstants});
}

}  // namespace pipescope::compile
