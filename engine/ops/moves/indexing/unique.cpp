// Unique: the distinct elements (or, with `axis`, the distinct slices), sorted or in the order of their first
// occurrence; also where each occurs first, which of them each element is, and how often each occurs. The
// data decide how many there are, so they must be known before the run. NaNs count as one value above all
// others, and −0 is 0.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>

#include "engine/ops/core/float8.h"
#include "engine/ops/core/half.h"
#include "engine/ops/core/shape_tools.h"

namespace pipescope::ops {
namespace {

struct UniqueParts {
  std::int64_t outer = 1, slices = 1, inner = 1;  ///< slice s holds the elements (o · slices + s) · inner + i
  Shape sliceShape;  ///< the extents of the output, except for the number of slices
  std::size_t axis = 0;
  Ints first, inverse, counts;
};

/// Unsigned numbers in the order of the values.
std::uint64_t uniqueOrderOf(double value) {
  if (std::isnan(value)) return ~std::uint64_t{0};
  const auto bits = std::bit_cast<std::uint64_t>(value == 0 ? 0.0 : value);
  return bits >> 63 ? ~bits : bits | (std::uint64_t{1} << 63);
}
std::uint64_t uniqueOrderOf(std::int64_t value) {
  return static_cast<std::uint64_t>(value) ^ (std::uint64_t{1} << 63);
}

template <class T>
T valueAt(const std::byte* bytes, std::size_t index) {
  T value{};
  std::memcpy(&value, bytes + index * sizeof(T), sizeof(T));
  return value;
}

std::uint64_t keyAt(ElementType type, const std::byte* bytes, std::size_t i) {
  switch (type) {
    case ElementType::float32:
      return uniqueOrderOf(static_cast<double>(valueAt<float>(bytes, i)));
    case ElementType::float64:
      return uniqueOrderOf(valueAt<double>(bytes, i));
    case ElementType::float16:
      return uniqueOrderOf(static_cast<double>(widened(valueAt<Float16>(bytes, i))));
    case ElementType::bfloat16:
      return uniqueOrderOf(static_cast<double>(widened(valueAt<BFloat16>(bytes, i))));
    case ElementType::int8:
      return uniqueOrderOf(std::int64_t{valueAt<std::int8_t>(bytes, i)});
    case ElementType::int16:
      return uniqueOrderOf(std::int64_t{valueAt<std::int16_t>(bytes, i)});
    case ElementType::int32:
      return uniqueOrderOf(std::int64_t{valueAt<std::int32_t>(bytes, i)});
    case ElementType::int64:
      return uniqueOrderOf(valueAt<std::int64_t>(bytes, i));
    case ElementType::uint8:
    case ElementType::boolean:
      return valueAt<std::uint8_t>(bytes, i);
    case ElementType::uint16:
      return valueAt<std::uint16_t>(bytes, i);
    case ElementType::uint32:
      return valueAt<std::uint32_t>(bytes, i);
    case ElementType::uint64:
      return valueAt<std::uint64_t>(bytes, i);
    case ElementType::float8_143:
    case ElementType::float8_143fn:
    case ElementType::float8_143fnuz:
    case ElementType::float8_152:
    case ElementType::float8_152fnuz:
      return uniqueOrderOf(static_cast<double>(widenedFloat8(type, valueAt<std::uint8_t>(bytes, i))));
    case ElementType::float4_121:
      break;  // only products read it
  }
  return 0;
}

Result<UniqueParts> layoutOf(const OperatorCall& call) {
  const TensorType& x = call.input(0);
  UniqueParts parts;
  if (!call.node.attributes.contains("axis")) {
    parts.slices = x.elements();
    parts.sliceShape = {0};
    return parts;
  }
  PIPESCOPE_ASSIGN(parts.axis, axisAttribute(call, 0, x.shape.size()));
  parts.outer = extentsWithin(x.shape, 0, parts.axis);
  parts.slices = x.shape[parts.axis];
  parts.inner = extentsWithin(x.shape, parts.axis + 1, x.shape.size());
  parts.sliceShape = x.shape;
  return parts;
}

/// Compares slices a and b by their first elements that differ: −1, 0 or 1.
int compared(const UniqueParts& parts, const std::vector<std::uint64_t>& keys, std::int64_t a,
             std::int64_t b) {
  for (std::int64_t o = 0; o < parts.outer; ++o) {
    for (std::int64_t i = 0; i < parts.inner; ++i) {
      const std::uint64_t x = keys[static_cast<std::size_t>((o * parts.slices + a) * parts.inner + i)];
      const std::uint64_t y = keys[static_cast<std::size_t>((o * parts.slices + b) * parts.inner + i)];
      if (x != y) return x < y ? -1 : 1;
    }
  }
  return 0;
}

Result<UniqueParts> partsOf(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const std::vector<std::byte>* bytes, shapingValue(call, 0, "X"));
  PIPESCOPE_ASSIGN(UniqueParts parts, layoutOf(call));
  std::vector<std::uint64_t> keys(static_cast<std::size_t>(call.input(0).elements()));
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = keyAt(call.input(0).element, bytes->data(), i);
  Ints order(static_cast<std::size_t>(parts.slices));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order,
                           [&](std::int64_t a, std::int64_t b) { return compared(parts, keys, a, b) < 0; });
  struct Group {
    std::int64_t first;
    Ints members;
  };
  std::vector<Group> groups;
  for (const std::int64_t slice : order) {
    if (groups.empty() || compared(parts, keys, groups.back().first, slice) != 0)
      groups.push_back({slice, {}});
    groups.back().members.push_back(slice);
  }
  if (graph::intAttribute(call.node, "sorted", 1) == 0) std::ranges::sort(groups, {}, &Group::first);
  parts.inverse.resize(order.size());
  for (std::size_t g = 0; g < groups.size(); ++g) {
    parts.first.push_back(groups[g].first);
    parts.counts.push_back(static_cast<std::int64_t>(groups[g].members.size()));
    for (const std::int64_t slice : groups[g].members)
      parts.inverse[static_cast<std::size_t>(slice)] = static_cast<std::int64_t>(g);
  }
  parts.sliceShape[parts.axis] = static_cast<std::int64_t>(groups.size());
  return parts;
}

Result<std::vector<TensorType>> inferUnique(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const UniqueParts parts, partsOf(call));
  const TensorType list{ElementType::int64, {static_cast<std::int64_t>(parts.first.size())}};
  return std::vector<TensorType>{
      {call.input(0).element, parts.sliceShape}, list, {ElementType::int64, {parts.slices}}, list};
}

Result<Kernel> uniqueKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(UniqueParts parts, partsOf(call));
  const auto run = static_cast<std::size_t>(parts.inner * graph::sizeOf(call.input(0).element));
  return Kernel{[parts = std::move(parts), run](const KernelArguments& a) -> Status {
                  std::byte* to = a.outputs[0].data();
                  for (std::int64_t o = 0; o < parts.outer && !a.outputs[0].empty(); ++o) {
                    for (const std::int64_t slice : parts.first) {
                      const auto from = static_cast<std::size_t>(o * parts.slices + slice);
                      std::memcpy(to, a.inputs[0].data() + from * run, run);
                      to += run;
                    }
                  }
                  if (std::int64_t* first = a.output<std::int64_t>(1)) std::ranges::copy(parts.first, first);
                  if (std::int64_t* inverse = a.output<std::int64_t>(2))
                    std::ranges::copy(parts.inverse, inverse);
                  if (std::int64_t* counts = a.output<std::int64_t>(3))
                    std::ranges::copy(parts.counts, counts);
                  return {};
                },
                0};
}

std::vector<Work> uniqueWork(const OperatorCall& call) {
  const UniqueParts parts = *layoutOf(call);
  return {{Sort{1, parts.slices, parts.slices, call.input(0).element}, 1, "Sort"},
          {Gather{call.outputs[0].shape.empty() ? 1 : call.outputs[0].shape[parts.axis],
                  parts.outer * parts.inner, parts.slices, call.input(0).element},
           1, "Pick"}};
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(unique) {
  registry.add({.type = "Unique",
                .attributes = {{"axis", AttributeKind::integer}, {"sorted", AttributeKind::integer}},
                .maxOutputs = 4,
                .infer = inferUnique,
                .kernel = uniqueKernel,
                .work = uniqueWork});
}

}  // namespace pipescope::ops
