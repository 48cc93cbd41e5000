// TopK: the k largest or smallest elements along an axis in order, and their positions. The first of equal
// elements comes first. NaN counts as larger than every number.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "engine/ops/core/dispatch.h"
#include "engine/ops/core/gradient_builder.h"
#include "engine/ops/core/shape_tools.h"

namespace pipescope::ops {
namespace {

struct TopKSetup {
  std::int64_t outer = 1, extent = 1, inner = 1, k = 1;
  std::size_t axis = 0;
  bool largest = true;
};

Result<TopKSetup> topKSetupOf(const OperatorCall& call) {
  const Shape& x = call.input(0).shape;
  TopKSetup setup;
  PIPESCOPE_ASSIGN(setup.axis, axisAttribute(call, -1, x.size()));
  PIPESCOPE_ASSIGN(const Ints k, call.constantInts(1, "k (input 1)"));
  setup.extent = x[setup.axis];
  if (k.size() != 1 || k.front() < 0 || k.front() > setup.extent) {
    return base::badInput(fmt::format("{}: k is {}; it must be one number, 0 to the {} elements of axis {}",
                                      call.title(), fmt::join(k, ", "), setup.extent, setup.axis));
  }
  setup.k = k.front();
  setup.outer = extentsWithin(x, 0, setup.axis);
  setup.inner = extentsWithin(x, setup.axis + 1, x.size());
  setup.largest = graph::intAttribute(call.node, "largest", 1) != 0;
  return setup;
}

Result<std::vector<TensorType>> inferTopK(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const TopKSetup setup, topKSetupOf(call));
  Shape shape = call.input(0).shape;
  shape[setup.axis] = setup.k;
  return std::vector<TensorType>{{call.input(0).element, shape}, {ElementType::int64, shape}};
}

/// Orders by size, with NaN last.
template <class T>
bool less(T a, T b) {
  return a < b || (a == a && b != b);
}

/// Finds the first k places of one row in order. The elements of the row are `step` apart, and `places` has
/// room for all of them.
template <class T>
void order(const TopKSetup& setup, const T* row, std::int64_t* places) {
  std::iota(places, places + setup.extent, std::int64_t{0});
  const std::int64_t step = setup.inner;
  const auto before = [row, step, largest = setup.largest](std::int64_t a, std::int64_t b) {
    const T x = row[a * step], y = row[b * step];
    if (largest ? less(y, x) : less(x, y)) return true;
    if (largest ? less(x, y) : less(y, x)) return false;
    return a < b;
  };
  std::partial_sort(places, places + setup.k, places + setup.extent, before);
}

template <class T>
void topK(const TopKSetup& setup, const T* x, T* values, std::int64_t* indices, std::int64_t* places) {
  for (std::int64_t o = 0; o < setup.outer; ++o) {
    for (std::int64_t i = 0; i < setup.inner; ++i) {
      const T* row = x + o * setup.extent * setup.inner + i;
      order(setup, row, places);
      for (std::int64_t j = 0; j < setup.k; ++j) {
        const std::int64_t to = (o * setup.k + j) * setup.inner + i;
        if (values) values[to] = row[places[j] * setup.inner];
        if (indices) indices[to] = places[j];
      }
    }
  }
}

Result<Kernel> topKKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const TopKSetup setup, topKSetupOf(call));
  return kernelForNumbers(call, call.input(0).element, [&setup]<class T>(T) {
    return Kernel{[setup](const KernelArguments& a) -> Status {
                    topK(setup, a.input<T>(0), a.output<T>(0), a.output<std::int64_t>(1),
                         a.scratchAs<std::int64_t>());
                    return {};
                  },
                  setup.extent* static_cast<std::int64_t>(sizeof(std::int64_t))};
  });
}

std::vector<Work> topKWork(const OperatorCall& call) {
  const TopKSetup setup = *topKSetupOf(call);
  return {{Sort{setup.outer * setup.inner, setup.extent, setup.k, call.input(0).element}, 1, ""}};
}

Status topKGradient(GradientBuilder& builder) {
  const Node& node = builder.node();
  if (!builder.wants(0)) return {};
  if (node.outputs.size() < 2 || !node.outputs[1].valid()) {
    return base::badInput(fmt::format("{}: to train through it, its second output (Indices) must be there",
                                      builder.call().title()));
  }
  if (!builder.outputGradient(0).valid()) return {};
  return builder.addFor(
      0, "GradGatherElements", "grad_input", {node.outputs[1], builder.outputGradient(0)},
      {{"axis", graph::intAttribute(node, "axis", -1)}, {"input_shape", builder.call().input(0).shape}});
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(top_k) {
  registry.add({.type = "TopK",
                .attributes = {{"axis", AttributeKind::integer},
                               {"largest", AttributeKind::integer},
                               {"sorted", AttributeKind::integer}},
                .minInputs = 2,
                .maxInputs = 2,
                .maxOutputs = 2,
                .infer = inferTopK,
                .kernel = topKKernel,
                .work = topKWork,
                .gradient = topKGradient});
}

}  // namespace pipescope::ops
