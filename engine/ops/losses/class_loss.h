#pragma once
// Helpers of the losses over classes: shapes, labels, weights and reductions. scores: N × C × d…; labels: N ×
// d…, int64 or int32; an optional weight for each class.
#include <optional>

#include "engine/ops/core/dispatch.h"
#include "engine/ops/core/operator.h"

namespace pipescope::ops {

enum class Reduction { none, sum, mean };

struct LossSetup {
  std::string title;
  std::int64_t rows = 0;     ///< N
  std::int64_t classes = 0;  ///< C
  std::int64_t inner = 0;    ///< product of d…
  Reduction reduction = Reduction::mean;
  std::optional<std::int64_t> ignored;
  ElementType labelType = ElementType::int64;

  std::int64_t labels() const { return rows * inner; }
};

/// The attribute `reduction`: none, sum or mean (the default).
Result<Reduction> reductionOf(const OperatorCall& call);

/// The inputs `first`, `first` + 1 and `first` + 2 are scores, labels and weight.
Result<LossSetup> lossSetupOf(const OperatorCall& call, std::size_t first);

std::vector<AttributeRule> classLossAttributes();
/// The labels' shape without a reduction, otherwise a scalar's.
Shape lossShapeOf(const LossSetup& setup, const Shape& labels);
/// Adds the Work of multiplying by class weights, if there are some, and of the reduction.
void addReductionWork(const OperatorCall& call, const LossSetup& setup, std::vector<Work>& work);

/// Infers the gradient by the scores. Inputs are [dloss], scores, labels and [weight]; without dloss it is 1.
Result<std::vector<TensorType>> inferScoresGradient(const OperatorCall& call);
/// These inputs for a loss node. Refuses to train class weights.
Result<std::vector<graph::TensorId>> scoresGradientInputs(GradientBuilder& builder);

/// Operation::run<T>(setup, arguments) as a kernel; the scores are input `first`.
template <class Operation>
Result<Kernel> classLossKernel(const OperatorCall& call, std::size_t first) {
  PIPESCOPE_ASSIGN(const LossSetup setup, lossSetupOf(call, first));
  return kernelForFloats(call, call.input(first).element, [&setup]<class T>(T) {
    return Kernel{[setup](const KernelArguments& a) { return Operation::template run<T>(setup, a); }, 0};
  });
}

/// Reads the labels of either integer type.
class LabelReader {
 public:
  LabelReader(const LossSetup& setup, const KernelArguments& arguments, std::size_t input)
      : wide_(setup.labelType == ElementType::int64 ? arguments.input<std::int64_t>(input) : nullptr),
        narrow_(wide_ ? nullptr : arguments.input<std::int32_t>(input)) {}
  std::int64_t operator[](std::int64_t i) const { return wide_ ? wide_[i] : narrow_[i]; }

 private:
  const std::int64_t* wide_;
  const std::int32_t* narrow_;
};

/// Fails with a sentence that names the row unless every label is a class or ignored.
Status checkLabels(const LossSetup& setup, const LabelReader& labels);

template <class T>
T weightOf(const LossSetup& setup, const T* weights, std::int64_t label) {
  if (setup.ignored == label) return T(0);
  return weights ? weights[label] : T(1);
}

template <class T>
T totalWeight(const LossSetup& setup, const T* weights, const LabelReader& labels) {
  T total = 0;
  for (std::int64_t i = 0; i < setup.labels(); ++i) total += weightOf(setup, weights, labels[i]);
  return total;
}

/// Writes the reduced loss from the sum over all labels.
template <class T>
void reduceLoss(const LossSetup& setup, T sum, const T* weights, const LabelReader& labels, T* loss) {
  if (setup.reduction == Reduction::sum) *loss = sum;
  if (setup.reduction == Reduction::mean) *loss = sum / totalWeight(setup, weights, labels);
}

}  // namespace pipescope::ops
