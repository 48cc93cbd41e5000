// CumSum: x, axis → running sums along the axis; `exclusive` leaves the element itself out, `reverse` starts
// at the end. Whole numbers wrap.
#include <fmt/format.h>

#include <type_traits>

#include "engine/ops/core/axis_rows.h"
#include "engine/ops/core/dispatch.h"
#include "engine/ops/core/gradient_builder.h"

namespace pipescope::ops {
namespace {

struct CumSumSetup {
  std::string title;
  Shape shape;
  bool exclusive = false, reverse = false, wideAxis = true;
};

Result<std::vector<TensorType>> inferCumSum(const OperatorCall& call) {
  const TensorType& axis = call.input(1);
  if ((axis.element != ElementType::int32 && axis.element != ElementType::int64) || axis.elements() != 1) {
    return base::badInput(fmt::format("{}: its axis (input 1) is {}; it must be one int32 or int64",
                                      call.title(), graph::toString(axis)));
  }
  return std::vector<TensorType>{call.input(0)};
}

template <class T>
void accumulateCumsum(const CumSumSetup& setup, const Rows& rows, const T* x, T* y) {
  for (std::int64_t o = 0; o < rows.outer; ++o, x += rows.depth * rows.inner, y += rows.depth * rows.inner) {
    for (std::int64_t c = 0; c < rows.inner; ++c) {
      T sum = T(0);
      for (std::int64_t step = 0; step < rows.depth; ++step) {
        const std::int64_t at = (setup.reverse ? rows.depth - 1 - step : step) * rows.inner + c;
        const T before = sum, value = x[at];
        if constexpr (std::is_floating_point_v<T>) {
          sum += value;
        } else {
          sum = static_cast<T>(static_cast<std::uint64_t>(sum) + static_cast<std::uint64_t>(value));
        }
        y[at] = setup.exclusive ? before : sum;
      }
    }
  }
}

Result<Kernel> cumSumKernel(const OperatorCall& call) {
  const CumSumSetup setup{
      call.title(), call.input(0).shape, graph::intAttribute(call.node, "exclusive", 0) != 0,
      graph::intAttribute(call.node, "reverse", 0) != 0, call.input(1).element == ElementType::int64};
  return kernelForNumbers(call, call.input(0).element, [&]<class T>(T) {
    return Kernel{
        [setup](const KernelArguments& a) -> Status {
          const auto rank = static_cast<std::int64_t>(setup.shape.size());
          const std::int64_t given = setup.wideAxis ? *a.input<std::int64_t>(1) : *a.input<std::int32_t>(1);
          if (given < -rank || given >= rank) {
            return base::badInput(
                fmt::format("{}: axis {} is not one of the {} axes of its input", setup.title, given, rank));
          }
          const auto axis = static_cast<std::size_t>(given < 0 ? given + rank : given);
          accumulateCumsum(setup, Rows::around(setup.shape, axis, axis + 1), a.input<T>(0), a.output<T>(0));
          return {};
        },
        0};
  });
}

std::vector<Work> cumSumWork(const OperatorCall& call) {
  return {{Map{MapFunction::add, call.input(0).elements(), 2, call.input(0).element, true}, 1, ""}};
}

Status cumSumGradient(GradientBuilder& builder) {
  graph::Attributes attributes = builder.node().attributes;
  attributes["reverse"] = std::int64_t{graph::intAttribute(builder.node(), "reverse", 0) == 0};
  return builder.addFor(0, "CumSum", "grad_input", {builder.outputGradient(0), builder.node().inputs[1]},
                        std::move(attributes));
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(cumsum) {
  registry.add({.type = "CumSum",
                .attributes = {{"exclusive", AttributeKind::integer}, {"reverse", AttributeKind::integer}},
                .minInputs = 2,
                .maxInputs = 2,
                .infer = inferCumSum,
                .kernel = cumSumKernel,
                .work = cumSumWork,
                .gradient = cumSumGradient,
                .inPlaceInput = 0});
}

}  // namespace pipescope::ops
