// Gather picks slices along an axis of the data by index. GradGather adds the gradient of each slice to its
// row, in ascending order of the indices.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "engine/ops/core/dispatch.h"
#include "engine/ops/core/gradient_builder.h"
#include "engine/ops/core/index_reader.h"
#include "engine/ops/core/shape_tools.h"

namespace pipescope::ops {
namespace {

struct GatherSetup {
  std::int64_t outer = 1, extent = 1, row = 1;  ///< extents of the data before the axis, on it and after it
  std::int64_t count = 1;                       ///< indices
  bool wide = true;
  std::string title;
};

GatherSetup gatherSetupOf(const OperatorCall& call, const Shape& data, std::size_t indices,
                          std::size_t axis) {
  return {extentsWithin(data, 0, axis),
          data[axis],
          extentsWithin(data, axis + 1, data.size()),
          call.input(indices).elements(),
          wideIndices(call, indices),
          call.title()};
}

Shape gatheredShape(const Shape& data, std::size_t axis, const Shape& indices) {
  Shape shape(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(axis));
  shape.insert(shape.end(), indices.begin(), indices.end());
  shape.insert(shape.end(), data.begin() + static_cast<std::ptrdiff_t>(axis) + 1, data.end());
  return shape;
}

// --- Gather: data, indices → output ----------------------------------------------------

Result<std::vector<TensorType>> inferGather(const OperatorCall& call) {
  PIPESCOPE_TRY(requireIndices(call, 1));
  const TensorType& data = call.input(0);
  PIPESCOPE_ASSIGN(const std::size_t axis, axisAttribute(call, 0, data.shape.size()));
  return inferredAs(call, data.element, gatheredShape(data.shape, axis, call.input(1).shape));
}

template <class Element>
void pick(const GatherSetup& setup, const IndexReader& indices, const Element* data, Element* to) {
  if (setup.row == 0) return;
  for (std::int64_t o = 0; o < setup.outer; ++o) {
    const Element* block = data + o * setup.extent * setup.row;
    for (std::int64_t i = 0; i < setup.count; ++i, to += setup.row) {
      const std::int64_t index = indices[i];
      const Element* from = block + (index < 0 ? index + setup.extent : index) * setup.row;
      if (setup.row == 1) {
        *to = *from;
      } else {
        std::memcpy(to, from, static_cast<std::size_t>(setup.row) * sizeof(Element));
      }
    }
  }
}

Result<Kernel> gatherKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const std::size_t axis, axisAttribute(call, 0, call.input(0).shape.size()));
  const GatherSetup setup = gatherSetupOf(call, call.input(0).shape, 1, axis);
  const auto maker = [&setup]<class Element>(Element) {
    return Kernel{[setup](const KernelArguments& a) -> Status {
                    const IndexReader indices(a.inputs[1].data(), setup.wide);
                    PIPESCOPE_TRY(checkIndices(setup.title, indices, setup.count, setup.extent));
                    pick(setup, indices, a.input<Element>(0), a.output<Element>(0));
                    return {};
                  },
                  0};
  };
  return kernelForSizes(call.input(0).element, maker);
}

std::vector<Work> gatherWork(const OperatorCall& call) {
  const GatherSetup setup =
      gatherSetupOf(call, call.input(0).shape, 1, *axisAttribute(call, 0, call.input(0).shape.size()));
  return {{Gather{setup.outer * setup.count, setup.row, setup.outer * setup.extent, call.input(0).element}, 1,
           ""}};
}

Status gatherGradient(GradientBuilder& builder) {
  if (!builder.wants(0)) return {};
  return builder.addFor(0, "GradGather", "grad_input", {builder.node().inputs[1], builder.outputGradient(0)},
                        {{"axis", graph::intAttribute(builder.node(), "axis", 0)},
                         {"input_shape", builder.call().input(0).shape}});
}

// --- GradGather: indices, dy → dx; attribute input_shape -------------------------------

Result<std::vector<TensorType>> inferGradGather(const OperatorCall& call) {
  PIPESCOPE_TRY(requireIndices(call, 0));
  const Shape shape = graph::intsAttribute(call.node, "input_shape", {});
  PIPESCOPE_ASSIGN(const std::size_t axis, axisAttribute(call, 0, shape.size()));
  const Shape expected = gatheredShape(shape, axis, call.input(0).shape);
  if (call.input(1).shape != expected) {
    return base::badInput(fmt::format("{}: the gradient by its output is {}, but the output is {}",
                                      call.title(), extentsText(call.input(1).shape), extentsText(expected)));
  }
  return inferredAs(call, call.input(1).element, shape);
}

template <class T>
void addRows(const GatherSetup& setup, const IndexReader& indices, const T* dy, T* dx) {
  std::fill_n(dx, setup.outer * setup.extent * setup.row, T(0));
  for (std::int64_t o = 0; o < setup.outer; ++o) {
    T* block = dx + o * setup.extent * setup.row;
    for (std::int64_t i = 0; i < setup.count; ++i, dy += setup.row) {
      const std::int64_t index = indices[i];
      T* to = block + (index < 0 ? index + setup.extent : index) * setup.row;
      for (std::int64_t j = 0; j < setup.row; ++j) to[j] += dy[j];
    }
  }
}

Result<Kernel> gradGatherKernel(const OperatorCall& call) {
  const Shape shape = graph::intsAttribute(call.node, "input_shape", {});
  PIPESCOPE_ASSIGN(const std::size_t axis, axisAttribute(call, 0, shape.size()));
  const GatherSetup setup = gatherSetupOf(call, shape, 0, axis);
  return kernelForFloats(call, call.input(1).element, [&setup]<class T>(T) {
    return Kernel{[setup](const KernelArguments& a) -> Status {
                    const IndexReader indices(a.inputs[0].data(), setup.wide);
                    PIPESCOPE_TRY(checkIndices(setup.title, indices, setup.count, setup.extent));
                    addRows(setup, indices, a.input<T>(1), a.output<T>(0));
                    return {};
                  },
                  0};
  });
}

std::vector<Work> gradGatherWork(const OperatorCall& call) {
  const Shape shape = graph::intsAttribute(call.node, "input_shape", {});
  const GatherSetup setup = gatherSetupOf(call, shape, 0, *axisAttribute(call, 0, shape.size()));
  return {
      {Scatter{setup.outer * setup.count, setup.row, setup.outer * setup.extent, true, call.input(1).element},
       1, ""}};
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(gather) {
  registry.add({.type = "Gather",
                .attributes = {{"axis", AttributeKind::integer}},
                .minInputs = 2,
                .maxInputs = 2,
                .infer = inferGather,
                .kernel = gatherKernel,
                .work = gatherWork,
                .gradient = gatherGradient});
  registry.add({.type = "GradGather",
                .attributes = {{"axis", AttributeKind::integer}, {"input_shape", AttributeKind::integers}},
                .minInputs = 2,
                .maxInputs = 2,
                .infer = inferGradGather,
                .kernel = gradGatherKernel,
                .work = gradGatherWork});
}

}  // namespace pipescope::ops
