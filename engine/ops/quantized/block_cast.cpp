// BlockCast: a tensor as float8 or float4 in blocks with scales (scaled_blocks.h), once for each of one or
// two axes along which products sum. Outputs: for each axis the elements and their scales. `prepared` = 1:
// the tensor is a weight that never changes, so it is cast when it is loaded, and devices hold only the
// result.
#include <fmt/format.h>

#include <algorithm>

#include "engine/ops/core/cast_elements.h"
#include "engine/ops/core/dispatch.h"
#include "engine/ops/quantized/scaled_blocks.h"

namespace pipescope::ops {
namespace {

using base::badInput;

Result<ElementType> blockFormat(const OperatorCall& call) {
  const std::string wanted = graph::stringAttribute(call.node, "format", "");
  for (const ElementType type :
       {ElementType::float8_143fn, ElementType::float8_152, ElementType::float4_121}) {
    if (graph::toString(type) == wanted) return type;
  }
  return badInput(fmt::format("{}: its format is \"{}\"; it must be float8_143fn, float8_152 or float4_121",
                              call.title(), wanted));
}

Result<std::vector<std::int64_t>> blockAxes(const OperatorCall& call) {
  std::vector<std::int64_t> axes = graph::intsAttribute(call.node, "axes", {});
  const auto rank = static_cast<std::int64_t>(call.input(0).shape.size());
  const auto outside = [&](std::int64_t axis) { return axis >= 0 || axis < -rank; };
  if (axes.empty() || axes.size() > 2 || std::ranges::any_of(axes, outside))
    return badInput(fmt::format("{}: its axes must be one or two of -1 … -{}", call.title(), rank));
  return axes;
}

Result<std::vector<TensorType>> inferBlockCast(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const ElementType type, blockFormat(call));
  PIPESCOPE_ASSIGN(const std::vector<std::int64_t> axes, blockAxes(call));
  const TensorType& x = call.input(0);
  if (x.element != ElementType::float32 && x.element != ElementType::float16 &&
      x.element != ElementType::bfloat16)
    return unsupportedType(call, x.element, "float32, float16 and bfloat16");
  std::vector<TensorType> types;
  for (const std::int64_t axis : axes) {
    types.push_back({type, x.shape});
    types.push_back({ElementType::uint8, {scaleBytes(type, blockLayout(x.shape, axis, blockOf(type)))}});
  }
  return types;
}

struct BlockCastSetup {
  ElementType from = ElementType::float32, to = ElementType::float8_143fn;
  std::int64_t count = 0;
  std::vector<BlockLayout> layouts;
};

Status runBlockCast(const KernelArguments& a, const BlockCastSetup& setup) {
  auto* wide = reinterpret_cast<float*>(a.scratch.data());
  castElements(setup.from, a.inputs[0].data(), ElementType::float32, a.scratch.data(), setup.count);
  for (std::size_t i = 0; i < setup.layouts.size(); ++i)
    narrowToBlocks(setup.to, setup.layouts[i], wide, a.output<std::uint8_t>(2 * i),
                   a.output<std::uint8_t>(2 * i + 1));
  return {};
}

Result<Kernel> blockCastKernel(const OperatorCall& call) {
  BlockCastSetup setup{call.input(0).element, ElementType::float8_143fn, call.input(0).elements(), {}};
  PIPESCOPE_ASSIGN(setup.to, blockFormat(call));
  PIPESCOPE_ASSIGN(const std::vector<std::int64_t> axes, blockAxes(call));
  for (const std::int64_t axis : axes)
    setup.layouts.push_back(blockLayout(call.input(0).shape, axis, blockOf(setup.to)));
  return kernelOf(setup, runBlockCast, paddedElements<float>(setup.count) * 4);
}

/// One kernel looks for the largest number of each block and writes what it casts along both axes. Where the
/// whole tensor has a scale, too, another one looks for its largest number before.
std::vector<Work> blockCastWork(const OperatorCall& call) {
  const TensorType& x = call.input(0);
  const ElementType type = *blockFormat(call);
  const std::vector<std::int64_t> axes = *blockAxes(call);
  const auto rows = static_cast<std::int64_t>(axes.size());
  const Work magnitudes{Map{MapFunction::abs, x.elements(), 1, x.element, false}, 1, "Abs"};
  std::vector<Work> work;
  if (type == ElementType::float4_121)
    work = {magnitudes, {Reduce{ReduceFunction::max, 1, x.elements(), true, x.element}, 1, "Max"}};
  const std::int64_t block = std::min(blockOf(type), x.elements());
  work.push_back({Map{MapFunction::abs, rows * x.elements(), 1, x.element, false}, 1, "BlockAbs"});
  work.push_back(
      {Reduce{ReduceFunction::max, rows * x.elements() / block, block, true, x.element}, 1, "BlockMax"});
  work.push_back({Map{MapFunction::cast, rows * x.elements(), 1, x.element, false}, 1, "Cast"});
  return work;
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(block_cast) {
  registry.add({.type = "BlockCast",
                .attributes = {{"format", AttributeKind::text},
                               {"axes", AttributeKind::integers},
                               {"prepared", AttributeKind::integer}},
                .maxOutputs = 4,
                .infer = inferBlockCast,
                .kernel = blockCastKernel,
                .work = blockCastWork});
}

}  // namespace pipescope::ops
