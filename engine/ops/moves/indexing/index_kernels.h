#pragma once
// Kernels of ScatterElements, ScatterND, GatherElements and GatherND over a walk (element_walk.h, row_walk.h)
// that visits the number of a row and its first element in the data.
#include <algorithm>
#include <cstring>

#include "engine/ops/core/dispatch.h"
#include "engine/ops/core/index_reader.h"
#include "engine/ops/core/operator.h"

namespace pipescope::ops {

enum class ScatterReduction { none, add, mul, min, max };

/// The attribute `reduction`.
Result<ScatterReduction> scatterReduction(const OperatorCall& call);

/// Adds the gradients of data, indices, updates → output: by the data "Grad<type>" (indices, dy → dx, with
/// zeros where something was written), by the updates `gather` (dy, indices). Refuses reductions other than
/// none and add.
Status addScatterGradients(GradientBuilder& builder, const std::string& gather,
                           const graph::Attributes& attributes);

template <class T>
T combined(T old, T update, ScatterReduction reduction) {
  switch (reduction) {
    case ScatterReduction::none:
      break;
    case ScatterReduction::add:
      return static_cast<T>(old + update);
    case ScatterReduction::mul:
      return static_cast<T>(old * update);
    case ScatterReduction::min:
      return update < old || update != update ? update : old;
    case ScatterReduction::max:
      return old < update || update != update ? update : old;
  }
  return update;
}

/// Copies an input to output 0, unless the output has its memory.
inline void startFrom(const KernelArguments& a, std::size_t input) {
  if (!a.outputs[0].empty() && a.inputs[input].data() != a.outputs[0].data())
    std::memcpy(a.outputs[0].data(), a.inputs[input].data(), a.outputs[0].size());
}

/// Computes data, indices, updates → output.
template <class Walk>
Result<Kernel> scatterKernel(const OperatorCall& call, const Walk& walk) {
  PIPESCOPE_ASSIGN(const ScatterReduction reduction, scatterReduction(call));
  const auto make = [&]<class T>(T) {
    return Kernel{[walk, reduction](const KernelArguments& a) -> Status {
                    const IndexReader indices(a.inputs[1].data(), walk.wide);
                    PIPESCOPE_TRY(walk.check(indices));
                    startFrom(a, 0);
                    walk.run(indices, [=, updates = a.input<T>(2), y = a.output<T>(0), row = walk.row](
                                          std::int64_t number, std::int64_t at) {
                      for (std::int64_t i = 0; i < row; ++i)
                        y[at + i] = combined(y[at + i], updates[number * row + i], reduction);
                    });
                    return {};
                  },
                  0};
  };
  const ElementType element = call.input(0).element;
  return reduction == ScatterReduction::none ? kernelForSizes(element, make)
                                             : kernelForNumbers(call, element, make);
}

/// Computes indices, dy → dy with zeros at the places that the walk visits.
template <class Walk>
Result<Kernel> zeroingKernel(const OperatorCall& call, const Walk& walk) {
  return kernelForSizes(call.input(1).element, [&walk]<class Element>(Element) {
    return Kernel{[walk](const KernelArguments& a) -> Status {
                    const IndexReader indices(a.inputs[0].data(), walk.wide);
                    PIPESCOPE_TRY(walk.check(indices));
                    startFrom(a, 1);
                    walk.run(indices,
                             [dx = a.output<Element>(0), row = walk.row](std::int64_t, std::int64_t at) {
                               std::fill_n(dx + at, row, Element(0));
                             });
                    return {};
                  },
                  0};
  });
}

/// Computes indices, dy → dx of `elements` elements: zeros, plus dy at the places where its elements came
/// from.
template <class Walk>
Result<Kernel> gatherGradientKernel(const OperatorCall& call, const Walk& walk, std::int64_t elements) {
  return kernelForFloats(call, call.input(1).element, [&]<class T>(T) {
    return Kernel{[walk, elements](const KernelArguments& a) -> Status {
                    const IndexReader indices(a.inputs[0].data(), walk.wide);
                    PIPESCOPE_TRY(walk.check(indices));
                    T* dx = a.output<T>(0);
                    std::fill_n(dx, elements, T(0));
                    walk.run(indices,
                             [dx, dy = a.input<T>(1), row = walk.row](std::int64_t number, std::int64_t at) {
                               for (std::int64_t i = 0; i < row; ++i) dx[at + i] += dy[number * row + i];
                             });
                    return {};
                  },
                  0};
  });
}

}  // namespace pipescope::ops
