// Compress: the slices along an axis (or, without one, the elements) whose condition is true. The condition
// decides how many there are, so it must be known before the run. GradCompress puts gradients back between
// zeros.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "engine/ops/core/gradient_builder.h"
#include "engine/ops/core/shape_tools.h"

namespace pipescope::ops {
namespace {

struct CompressSetup {
  std::size_t outer = 1, slices = 1, inner = 1;  ///< inner is the bytes of a slice
  std::vector<std::size_t> kept;
  Shape result;
  std::int64_t innerElements = 1;
};

Result<CompressSetup> compressSetupAlong(const OperatorCall& call, const Shape& x, ElementType element) {
  const TensorType& condition = call.input(1);
  if (condition.element != ElementType::boolean || condition.shape.size() != 1) {
    return base::badInput(fmt::format("{}: its condition (input 1) is {}; it must be a list of bool",
                                      call.title(), graph::toString(condition)));
  }
  PIPESCOPE_ASSIGN(const std::vector<std::byte>* bytes, shapingValue(call, 1, "condition"));
  CompressSetup setup;
  std::size_t axis = 0;
  std::int64_t slices = graph::elementCount(x), outer = 1;
  setup.result = {0};
  if (call.node.attributes.contains("axis")) {
    PIPESCOPE_ASSIGN(axis, axisAttribute(call, 0, x.size()));
    outer = extentsWithin(x, 0, axis);
    slices = x[axis];
    setup.innerElements = extentsWithin(x, axis + 1, x.size());
    setup.result = x;
  }
  if (static_cast<std::int64_t>(bytes->size()) > slices) {
    return base::badInput(
        fmt::format("{}: its condition has {} elements, but there are only {} slices to keep", call.title(),
                    bytes->size(), slices));
  }
  for (std::size_t i = 0; i < bytes->size(); ++i) {
    if ((*bytes)[i] != std::byte{0}) setup.kept.push_back(i);
  }
  setup.outer = static_cast<std::size_t>(outer);
  setup.slices = static_cast<std::size_t>(slices);
  setup.inner = static_cast<std::size_t>(setup.innerElements * graph::sizeOf(element));
  setup.result[axis] = static_cast<std::int64_t>(setup.kept.size());
  return setup;
}

Result<CompressSetup> compressSetupOf(const OperatorCall& call) {
  return compressSetupAlong(call, call.input(0).shape, call.input(0).element);
}

Result<CompressSetup> compressGradientSetupOf(const OperatorCall& call) {
  return compressSetupAlong(call, graph::intsAttribute(call.node, "input_shape", {}), call.input(0).element);
}

Result<std::vector<TensorType>> inferCompress(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const CompressSetup setup, compressSetupOf(call));
  return std::vector<TensorType>{{call.input(0).element, setup.result}};
}

Result<Kernel> compressKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(CompressSetup setup, compressSetupOf(call));
  return Kernel{[setup = std::move(setup)](const KernelArguments& a) -> Status {
                  if (a.outputs[0].empty()) return {};
                  std::byte* to = a.outputs[0].data();
                  for (std::size_t o = 0; o < setup.outer; ++o) {
                    for (const std::size_t slice : setup.kept) {
                      std::memcpy(to, a.inputs[0].data() + (o * setup.slices + slice) * setup.inner,
                                  setup.inner);
                      to += setup.inner;
                    }
                  }
                  return {};
                },
                0};
}

std::vector<Work> compressWork(const OperatorCall& call) {
  const CompressSetup setup = *compressSetupOf(call);
  return {{Gather{static_cast<std::int64_t>(setup.outer * setup.kept.size()), setup.innerElements,
                  static_cast<std::int64_t>(setup.outer * setup.slices), call.input(0).element},
           1, ""}};
}

Status compressGradient(GradientBuilder& builder) {
  if (!builder.wants(0)) return {};
  graph::Attributes attributes = builder.node().attributes;
  attributes["input_shape"] = builder.call().input(0).shape;
  return builder.addFor(0, "GradCompress", "grad_input",
                        {builder.outputGradient(0), builder.node().inputs[1]}, std::move(attributes));
}

// --- GradCompress: dy, condition → dx; attributes axis, input_shape --------------------

Result<std::vector<TensorType>> inferCompressGradient(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const CompressSetup setup, compressGradientSetupOf(call));
  if (call.input(0).shape != setup.result) {
    return base::badInput(fmt::format("{}: the gradient by its output is {}, but the output is {}",
                                      call.title(), extentsText(call.input(0).shape),
                                      extentsText(setup.result)));
  }
  return inferredAs(call, call.input(0).element, graph::intsAttribute(call.node, "input_shape", {}));
}

Result<Kernel> compressGradientKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(CompressSetup setup, compressGradientSetupOf(call));
  return Kernel{[setup = std::move(setup)](const KernelArguments& a) -> Status {
                  std::ranges::fill(a.outputs[0], std::byte{0});
                  if (a.inputs[0].empty()) return {};
                  const std::byte* from = a.inputs[0].data();
                  for (std::size_t o = 0; o < setup.outer; ++o) {
                    for (const std::size_t slice : setup.kept) {
                      std::memcpy(a.outputs[0].data() + (o * setup.slices + slice) * setup.inner, from,
                                  setup.inner);
                      from += setup.inner;
                    }
                  }
                  return {};
                },
                0};
}

std::vector<Work> compressGradientWork(const OperatorCall& call) {
  const CompressSetup setup = *compressGradientSetupOf(call);
  return {{Scatter{static_cast<std::int64_t>(setup.outer * setup.kept.size()), setup.innerElements,
                   static_cast<std::int64_t>(setup.outer * setup.slices), false, call.input(0).element},
           1, ""}};
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(compress) {
  registry.add({.type = "Compress",
                .attributes = {{"axis", AttributeKind::integer}},
                .minInputs = 2,
                .maxInputs = 2,
                .infer = inferCompress,
                .kernel = compressKernel,
                .work = compressWork,
                .gradient = compressGradient});
  registry.add({.type = "GradCompress",
                .attributes = {{"axis", AttributeKind::integer}, {"input_shape", AttributeKind::integers}},
                .minInputs = 2,
                .maxInputs = 2,
                .infer = inferCompressGradient,
                .kernel = compressGradientKernel,
                .work = compressGradientWork});
}

}  // namespace pipescope::ops
