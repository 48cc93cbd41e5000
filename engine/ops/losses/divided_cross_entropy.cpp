// DividedCrossEntropy: loss of each row, scores, exponentials, sum, index, inside → loss. The classes of the
// scores are divided among ranks. The loss is already known; the operator only gives the scores their
// gradient, as the autograd function of Megatron-LM (core/tensor_parallel/cross_entropy.py) does: the
// exponentials over their sum, minus one at the class of the label where this rank has it. Shapes: loss, sum,
// index and inside rows × 1, scores and exponentials rows × classes of the rank. `index` is the class of the
// label on this rank. GradDividedCrossEntropy: gradient of the loss, exponentials, sum, index, inside →
// gradient of the scores.
#include <algorithm>

#include "engine/ops/core/common_work.h"
#include "engine/ops/core/dispatch.h"
#include "engine/ops/core/gradient_builder.h"

namespace pipescope::ops {
namespace {

Status checkDividedShapes(const OperatorCall& call, std::size_t exponentials) {
  const graph::Shape& whole = call.input(exponentials).shape;
  const bool row = whole.size() == 2 && call.input(0).shape == graph::Shape{whole[0], 1};
  if (row && call.input(exponentials + 1).shape == call.input(0).shape &&
      call.input(exponentials + 2).shape == call.input(0).shape &&
      call.input(exponentials + 2).element == ElementType::int64 &&
      call.input(exponentials + 3).shape == call.input(0).shape &&
      call.input(exponentials + 3).element == ElementType::boolean)
    return {};
  return base::badInput(call.title() +
                        ": the exponentials must be rows × classes, and all other inputs rows × 1, the index "
                        "as int64 and what lies inside as boolean");
}

Result<std::vector<TensorType>> inferDividedLoss(const OperatorCall& call) {
  PIPESCOPE_TRY(checkDividedShapes(call, 2));
  if (call.input(1).shape != call.input(2).shape)
    return base::badInput(call.title() + ": scores and exponentials must have the same shape");
  return std::vector<TensorType>{call.input(0)};
}

Result<Kernel> dividedLossKernel(const OperatorCall& call) {
  const std::int64_t rows = call.input(0).elements();
  return kernelForFloats(call, call.input(0).element, [rows]<class T>(T) {
    return Kernel{[rows](const KernelArguments& a) -> Status {
                    std::copy_n(a.input<T>(0), rows, a.output<T>(0));
                    return {};
                  },
                  0};
  });
}

Status dividedLossGradient(GradientBuilder& builder) {
  const std::vector<graph::TensorId>& in = builder.node().inputs;
  return builder.addFor(1, "GradDividedCrossEntropy", "grad_input",
                        {builder.outputGradient(0), in[2], in[3], in[4], in[5]}, {});
}

Result<std::vector<TensorType>> inferDividedLossGradient(const OperatorCall& call) {
  PIPESCOPE_TRY(checkDividedShapes(call, 1));
  return std::vector<TensorType>{call.input(1)};
}

Result<Kernel> dividedLossGradientKernel(const OperatorCall& call) {
  const std::int64_t rows = call.input(1).shape[0], classes = call.input(1).shape[1];
  return kernelForFloats(call, call.input(1).element, [rows, classes]<class T>(T) {
    return Kernel{[rows, classes](const KernelArguments& a) -> Status {
                    const T *outer = a.input<T>(0), *exponentials = a.input<T>(1), *sum = a.input<T>(2);
                    const auto* index = a.input<std::int64_t>(3);
                    const auto* inside = a.input<bool>(4);
                    T* scores = a.output<T>(0);
                    a.parallel(rows, [=](std::int64_t row) {
                      T* to = scores + row * classes;
                      const T* from = exponentials + row * classes;
                      for (std::int64_t c = 0; c < classes; ++c) to[c] = outer[row] * (from[c] / sum[row]);
                      const bool has = inside[row] && index[row] >= 0 && index[row] < classes;
                      if (has) to[index[row]] -= outer[row];
                    });
                    return {};
                  },
                  0};
  });
}

std::vector<Work> dividedLossGradientWork(const OperatorCall& call) {
  const TensorType& scores = call.input(1);
  return {{Map{MapFunction::normalise, scores.elements(), 2, scores.element, true}, 1, "Normalise"},
          {Scatter{scores.shape[0], 1, scores.elements(), true, scores.element}, 1, "OneHot"},
          {Map{MapFunction::multiply, scores.elements(), 2, scores.element, true}, 1, "Scale"}};
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(divided_cross_entropy) {
  registry.add({.type = "DividedCrossEntropy",
                .minInputs = 6,
                .maxInputs = 6,
                .infer = inferDividedLoss,
                .kernel = dividedLossKernel,
                .work = noWork,
                .gradient = dividedLossGradient,
                .inPlaceInput = 0});
  registry.add({.type = "GradDividedCrossEntropy",
                .minInputs = 5,
                .maxInputs = 5,
                .infer = inferDividedLossGradient,
                .kernel = dividedLossGradientKernel,
                .work = dividedLossGradientWork,
                .replacedInput = 1});  // see above; it works in place
}

}  // namespace pipescope::ops
