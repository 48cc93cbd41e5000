// Float8Cast: a tensor times 2^s as float8, and the exponent s. With the attribute `scale`, s is given.
// Without it, s is the largest exponent with which the largest magnitude of the tensor still fits, and it is
// the second output. (ONNX has no operator like it. Scales are powers of two, from 2^−32 to 2^31, as in the
// metadata of Graphcore's float8 tensors; Gaudis take them too.) `prepared` = 1: the tensor is a weight that
// never changes, so it is cast when it is loaded, and devices hold only the result.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/ops/core/cast_elements.h"
#include "engine/ops/core/dispatch.h"
#include "engine/ops/core/float8.h"

namespace pipescope::ops {
namespace {

using base::badInput;

constexpr std::int64_t kLeastScale = -32, kMostScale = 31;

Result<ElementType> formatOf(const OperatorCall& call) {
  const std::string wanted = graph::stringAttribute(call.node, "format", "");
  for (auto type = ElementType::float8_143; type <= ElementType::float8_152fnuz;
       type = static_cast<ElementType>(static_cast<int>(type) + 1)) {
    if (graph::toString(type) == wanted) return type;
  }
  return badInput(fmt::format(
      "{}: its format is \"{}\"; it must be float8_143, float8_143fn, float8_143fnuz, float8_152 or "
      "float8_152fnuz",
      call.title(), wanted));
}

Result<std::vector<TensorType>> inferFloat8Cast(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const ElementType type, formatOf(call));
  const TensorType& x = call.input(0);
  if (!isFloat(x.element) || x.element == ElementType::float64 || graph::isFloat8(x.element))
    return unsupportedType(call, x.element, "float32, float16 and bfloat16");
  std::vector<TensorType> types{{type, x.shape}};
  if (!call.node.attributes.contains("scale")) {
    types.push_back({ElementType::int32, {}});
    return types;
  }
  const std::int64_t scale = graph::intAttribute(call.node, "scale", 0);
  if (scale < kLeastScale || scale > kMostScale)
    return badInput(fmt::format("{}: its scale is 2^{}; the exponent must be from {} to {}", call.title(),
                                scale, kLeastScale, kMostScale));
  return types;
}

/// Calls body(first element, floats, count) for pieces of the input.
template <class Body>
void forPieces(const std::byte* x, ElementType type, std::int64_t count, const Body& body) {
  std::array<float, 1024> piece;
  for (std::int64_t at = 0; at < count; at += static_cast<std::int64_t>(piece.size())) {
    const std::int64_t some = std::min<std::int64_t>(count - at, piece.size());
    castElements(type, x + at * graph::sizeOf(type), ElementType::float32,
                 reinterpret_cast<std::byte*>(piece.data()), some);
    body(at, piece.data(), some);
  }
}

/// Infinities and NaN do not count.
float largestMagnitude(const std::byte* x, ElementType type, std::int64_t count) {
  float largest = 0;
  forPieces(x, type, count, [&](std::int64_t, const float* piece, std::int64_t some) {
    for (std::int64_t i = 0; i < some; ++i) {
      if (std::isfinite(piece[i])) largest = std::max(largest, std::fabs(piece[i]));
    }
  });
  return largest;
}

int scaleFor(float magnitude, ElementType type) {
  if (magnitude == 0) return 0;
  const float most = float8Definition(type).largest;
  int scale = std::ilogb(most) - std::ilogb(magnitude);
  if (std::ldexp(static_cast<double>(magnitude), scale) > static_cast<double>(most)) --scale;
  return std::clamp(scale, static_cast<int>(kLeastScale), static_cast<int>(kMostScale));
}

struct Float8CastSetup {
  ElementType from = ElementType::float32, to = ElementType::float8_143;
  std::int64_t count = 0;
  std::optional<int> scale;
};

Status runFloat8Cast(const KernelArguments& a, const Float8CastSetup& setup) {
  const std::byte* x = a.inputs[0].data();
  const int scale =
      setup.scale ? *setup.scale : scaleFor(largestMagnitude(x, setup.from, setup.count), setup.to);
  auto* y = a.output<std::uint8_t>(0);
  forPieces(x, setup.from, setup.count, [&](std::int64_t at, const float* piece, std::int64_t some) {
    narrowToFloat8(setup.to, piece, y + at, some, std::ldexp(1.0F, scale));
  });
  if (auto* to = a.output<std::int32_t>(1)) *to = scale;
  return {};
}

Result<Kernel> float8CastKernel(const OperatorCall& call) {
  Float8CastSetup setup{call.input(0).element, ElementType::float8_143, call.input(0).elements(), {}};
  PIPESCOPE_ASSIGN(setup.to, formatOf(call));
  if (call.node.attributes.contains("scale"))
    setup.scale = static_cast<int>(graph::intAttribute(call.node, "scale", 0));
  return kernelOf(setup, runFloat8Cast);
}

std::vector<Work> float8CastWork(const OperatorCall& call) {
  const TensorType& x = call.input(0);
  const Work cast{Map{MapFunction::cast, x.elements(), 1, x.element, false}, 1, "Cast"};
  if (call.node.attributes.contains("scale")) return {cast};
  return {{Map{MapFunction::abs, x.elements(), 1, x.element, false}, 1, "Abs"},
          {Reduce{ReduceFunction::max, 1, x.elements(), true, x.element}, 1, "Max"},
          cast};
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(float8_cast) {
  registry.add({.type = "Float8Cast",
                .attributes = {{"format", AttributeKind::text},
                               {"scale", AttributeKind::integer},
                               {"prepared", AttributeKind::integer}},
                .maxOutputs = 2,
                .infer = inferFloat8Cast,
                .kernel = float8CastKernel,
                .work = float8CastWork});
}

}  // namespace pipescope::ops
