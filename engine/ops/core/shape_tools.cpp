#include "engine/ops/core/shape_tools.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>

#include "engine/ops/core/computed_late.h"

namespace pipescope::ops {

using base::badInput;

Ints stridesOf(const Shape& shape) {
  Ints strides(shape.size(), 1);
  for (std::size_t axis = shape.size(); axis-- > 1;) strides[axis - 1] = strides[axis] * shape[axis];
  return strides;
}

std::int64_t extentsWithin(const Shape& shape, std::size_t begin, std::size_t end) {
  std::int64_t product = 1;
  for (std::size_t axis = begin; axis < end; ++axis) product *= shape[axis];
  return product;
}

Result<std::size_t> axisWithin(const OperatorCall& call, std::int64_t axis, std::size_t rank,
                               const std::string& what) {
  const auto axes = static_cast<std::int64_t>(rank);
  if (axis < -axes || axis >= axes) {
    if (rank == 0)
      return badInput(fmt::format("{}: {} is {}, but a scalar has no axes", call.title(), what, axis));
    return badInput(fmt::format("{}: {} is {}; the tensor has {} axes, so it must be {} to {}", call.title(),
                                what, axis, axes, -axes, axes - 1));
  }
  return static_cast<std::size_t>(axis < 0 ? axis + axes : axis);
}

Result<std::vector<std::size_t>> axesWithin(const OperatorCall& call, const Ints& axes, std::size_t rank,
                                            const std::string& what) {
  std::vector<std::size_t> result;
  std::vector<bool> seen(rank, false);
  for (const std::int64_t axis : axes) {
    PIPESCOPE_ASSIGN(const std::size_t at, axisWithin(call, axis, rank, what));
    if (seen[at]) return badInput(fmt::format("{}: {} names axis {} twice", call.title(), what, at));
    seen[at] = true;
    result.push_back(at);
  }
  return result;
}

Result<std::size_t> axisAttribute(const OperatorCall& call, std::int64_t fallback, std::size_t rank) {
  return axisWithin(call, graph::intAttribute(call.node, "axis", fallback), rank, "axis");
}

Status requireSize(const OperatorCall& call, const Shape& shape) {
  constexpr std::int64_t kMostElements = std::int64_t{1} << 48;
  std::int64_t elements = 1;
  bool empty = false;
  for (const std::int64_t extent : shape) {
    if (extent < 0) {
      return badInput(fmt::format("{}: its output would be {}; no extent may be negative", call.title(),
                                  extentsText(shape)));
    }
    empty = empty || extent == 0;
  }
  if (empty) return {};
  for (const std::int64_t extent : shape) {
    if (extent > kMostElements || elements > kMostElements / extent) {
      return badInput(fmt::format("{}: its output would be {}, more elements than any memory holds",
                                  call.title(), extentsText(shape)));
    }
    elements *= extent;
  }
  return {};
}

Result<std::vector<TensorType>> inferredAs(const OperatorCall& call, ElementType element, Shape shape) {
  PIPESCOPE_TRY(requireSize(call, shape));
  return std::vector<TensorType>{{element, std::move(shape)}};
}

Result<std::optional<Ints>> intsFrom(const OperatorCall& call, std::size_t input,
                                     const std::string& attribute) {
  const bool hasAttribute = call.node.attributes.contains(attribute);
  if (hasAttribute && call.has(input)) {
    return badInput(fmt::format("{}: {} is given as attribute and as input {}; leave one out", call.title(),
                                attribute, input));
  }
  if (hasAttribute) return std::optional(graph::intsAttribute(call.node, attribute, {}));
  if (!call.has(input)) return std::optional<Ints>();
  PIPESCOPE_ASSIGN(Ints values, call.constantInts(input, fmt::format("{} (input {})", attribute, input)));
  return std::optional(std::move(values));
}

Result<const std::vector<std::byte>*> shapingValue(const OperatorCall& call, std::size_t index,
                                                   const std::string& what) {
  if (index < call.constants.size() && call.constants[index]) return call.constants[index];
  return badInput(fmt::format("{}: the shape of its output depends on the data of {} (input {}), which {}",
                              call.title(), what, index, kComputedLate));
}

namespace {

template <class T>
double numberAt(const std::vector<std::byte>& bytes) {
  T value{};
  std::memcpy(&value, bytes.data(), sizeof(value));
  return static_cast<double>(value);
}

}  // namespace

Result<double> scalarNumber(const OperatorCall& call, std::size_t index, const std::string& what) {
  const TensorType& type = call.input(index);
  if (type.elements() != 1) {
    return badInput(fmt::format("{}: {} (input {}) is {}; it must be one number", call.title(), what, index,
                                graph::toString(type)));
  }
  PIPESCOPE_ASSIGN(const std::vector<std::byte>* bytes, shapingValue(call, index, what));
  switch (type.element) {
    case ElementType::float32:
      return numberAt<float>(*bytes);
    case ElementType::float64:
      return numberAt<double>(*bytes);
    case ElementType::int8:
      return numberAt<std::int8_t>(*bytes);
    case ElementType::int16:
      return numberAt<std::int16_t>(*bytes);
    case ElementType::int32:
      return numberAt<std::int32_t>(*bytes);
    case ElementType::int64:
      return numberAt<std::int64_t>(*bytes);
    case ElementType::uint8:
      return numberAt<std::uint8_t>(*bytes);
    case ElementType::uint16:
      return numberAt<std::uint16_t>(*bytes);
    case ElementType::uint32:
      return numberAt<std::uint32_t>(*bytes);
    case ElementType::uint64:
      return numberAt<std::uint64_t>(*bytes);
    default:
      return badInput(fmt::format("{}: {} (input {}) is {}; give it as a whole number, float32 or float64",
                                  call.title(), what, index, graph::toString(type)));
  }
}

Result<ElementType> elementTypeAttribute(const OperatorCall& call, const std::string& name,
                                         ElementType fallback) {
  if (!call.node.attributes.contains(name)) return fallback;
  const std::int64_t number = graph::intAttribute(call.node, name, 0);
  switch (number) {
    case 1:
      return ElementType::float32;
    case 2:
      return ElementType::uint8;
    case 3:
      return ElementType::int8;
    case 4:
      return ElementType::uint16;
    case 5:
      return ElementType::int16;
    case 6:
      return ElementType::int32;
    case 7:
      return ElementType::int64;
    case 9:
      return ElementType::boolean;
    case 10:
      return ElementType::float16;
    case 11:
      return ElementType::float64;
    case 12:
      return ElementType::uint32;
    case 13:
      return ElementType::uint64;
    case 16:
      return ElementType::bfloat16;
    default:
      return badInput(
          fmt::format("{}: {} is {}, an element type that is not supported", call.title(), name, number));
  }
}

std::string extentsText(const Shape& shape) {
  return shape.empty() ? "a scalar" : fmt::format("{}", fmt::join(shape, "x"));
}

}  // namespace pipescope::ops
