#include "engine/onnx/evaluate.h"

#include <fmt/format.h>

#include <limits>
#include <memory>
#include <new>

namespace pipescope::onnx {

using base::badInput;
using base::Result;

namespace {

/// Alignment of the scratch memory of kernels.
constexpr std::size_t kAlignment = 64;

struct AlignedFree {
  void operator()(std::byte* memory) const { ::operator delete[](memory, std::align_val_t{kAlignment}); }
};
using Scratch = std::unique_ptr<std::byte[], AlignedFree>;

/// A tensor without elements needs an address too, because a null address stands for an input that is left
/// out.
std::span<const std::byte> spanOf(const std::vector<std::byte>& bytes) {
  static constexpr std::byte kNothing{};
  return bytes.empty() ? std::span(&kNothing, 0) : std::span(bytes);
}

graph::Node nodeOf(const OnnxNode& from, const Values& inputs) {
  graph::Node node;
  node.op = from.op;
  node.name = from.name;
  node.attributes = from.attributes;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    node.inputs.push_back(inputs[i] ? graph::TensorId(static_cast<std::int64_t>(i)) : graph::TensorId());
  for (std::size_t i = 0; i < from.outputs.size(); ++i) {
    const auto id = static_cast<std::int64_t>(inputs.size() + i);
    node.outputs.push_back(from.outputs[i].valid() ? graph::TensorId(id) : graph::TensorId());
  }
  return node;
}

/// One evaluation: the kernel, its outputs and its scratch memory.
class Run {
 public:
  Run(const OnnxNode& node, const ops::OperatorCall& call, const Evaluation& evaluation)
      : node_(node), call_(call), evaluation_(evaluation) {}

  Result<Values> operator()(const Values& inputs) {
    const ops::OperatorDefinition* definition = evaluation_.registry.find(node_.op);
    if (!definition->kernel)
      return badInput(fmt::format("{}: this operator can be emulated, but not computed.", call_.title()));
    // Making a kernel may already take memory in proportion to the extents of its result.
    PIPESCOPE_TRY(checkMemory(0));
    if (allEmpty()) {
      makeOutputs();
      return std::move(outputs_);
    }
    PIPESCOPE_ASSIGN(const ops::Kernel kernel, definition->kernel(call_));
    PIPESCOPE_TRY(checkMemory(kernel.scratchBytes));
    makeOutputs();
    const auto scratchBytes = static_cast<std::size_t>(kernel.scratchBytes);
    const Scratch scratch(new (std::align_val_t{kAlignment})
                              std::byte[std::max<std::size_t>(1, scratchBytes)]);
    std::vector<std::span<const std::byte>> given;
    for (const auto& input : inputs)
      given.push_back(input ? spanOf(input->bytes) : std::span<const std::byte>());
    ops::KernelArguments arguments;
    arguments.inputs = given;
    arguments.outputs = spans_;
    arguments.scratch = {scratch.get(), scratchBytes};
    arguments.identity = evaluation_.identity;
    PIPESCOPE_TRY(kernel.run(arguments));
    return std::move(outputs_);
  }

 private:
  base::Status checkMemory(std::int64_t scratchBytes) const {
    std::int64_t left = evaluation_.maxBytes;
    const auto tooMuch = [&](const std::string& what) {
      return badInput(fmt::format("{}: {}, more than the {} bytes of memory left to it.", call_.title(), what,
                                  evaluation_.maxBytes));
    };
    for (std::size_t i = 0; i < call_.outputs.size(); ++i) {
      PIPESCOPE_ASSIGN(const std::int64_t bytes,
                       checkedBytes(call_.outputs[i], call_.title() + ": its output"));
      if (node_.outputs[i].valid() && bytes > left)
        return tooMuch("its output would be " + graph::toString(call_.outputs[i]));
      left -= node_.outputs[i].valid() ? bytes : 0;
    }
    if (scratchBytes > left) return tooMuch(fmt::format("it needs {} bytes of scratch memory", scratchBytes));
    return {};
  }

  bool allEmpty() const {
    for (std::size_t i = 0; i < call_.outputs.size(); ++i) {
      if (node_.outputs[i].valid() && call_.outputs[i].elements() != 0) return false;
    }
    return true;
  }

  void makeOutputs() {
    for (std::size_t i = 0; i < call_.outputs.size(); ++i) {
      if (!node_.outputs[i].valid()) {
        outputs_.push_back(nullptr);
        spans_.emplace_back();
        continue;
      }
      auto value = std::make_shared<TensorValue>();
      value->type = call_.outputs[i];
      // One extra byte, so that a tensor without elements has an address too.
      const auto bytes = static_cast<std::size_t>(value->type.bytes().count);
      value->bytes.reserve(bytes + 1);
      value->bytes.resize(bytes);
      spans_.emplace_back(value->bytes);
      outputs_.push_back(std::move(value));
    }
  }

  const OnnxNode& node_;
  const ops::OperatorCall& call_;
  const Evaluation& evaluation_;
  Values outputs_;
  std::vector<std::span<std::byte>> spans_;
};

}  // namespace

Result<std::int64_t> checkedBytes(const TensorType& type, const std::string& what) {
  std::int64_t bytes = graph::sizeOf(type.element);
  for (const std::int64_t extent : type.shape) {
    if (extent == 0) return std::int64_t{0};
    if (extent < 0) return badInput(fmt::format("{} has the negative extent {}.", what, extent));
  }
  for (const std::int64_t extent : type.shape) {
    if (bytes > std::numeric_limits<std::int64_t>::max() / 4 / extent)
      return badInput(fmt::format("{} has more elements than can be addressed.", what));
    bytes *= extent;
  }
  return bytes;
}

Result<Values> evaluate(const OnnxNode& node, const Values& inputs, const Evaluation& evaluation) {
  const graph::Node made = nodeOf(node, inputs);
  ops::OperatorCall call{made, {}, {}, {}, node.outputs.size()};
  for (const auto& input : inputs) {
    call.inputs.push_back(input ? &input->type : nullptr);
    call.constants.push_back(input ? &input->bytes : nullptr);
  }
  PIPESCOPE_ASSIGN(call.outputs, ops::inferCall(call, evaluation.registry));
  try {
    return Run(node, call, evaluation)(inputs);
  } catch (const std::bad_alloc&) {
    // The size is below the limit, but the machine or the process does not have so much memory.
    std::string outputs;
    for (const TensorType& type : call.outputs)
      outputs += (outputs.empty() ? "" : ", ") + graph::toString(type);
    return base::machineError(fmt::format("{}: not enough memory to compute {}.", call.title(), outputs));
  }
}

}  // namespace pipescope::onnx
