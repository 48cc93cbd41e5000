// Bernoulli gives 1 with the probability in its input, otherwise 0. Multinomial draws indices of classes,
// each with a probability proportional to the exponential of its input.
#include <fmt/format.h>

#include <algorithm>

#include "engine/ops/core/dispatch.h"
#include "engine/ops/core/gradient_builder.h"
#include "engine/ops/core/random_draws.h"
#include "engine/ops/core/shape_tools.h"

namespace pipescope::ops {
namespace {

using base::badInput;

// --- Bernoulli -------------------------------------------------------------------------

Result<std::vector<TensorType>> inferBernoulli(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const ElementType element, elementTypeAttribute(call, "dtype", call.input(0).element));
  if (!isFloat(call.input(0).element))
    return unsupportedType(call, call.input(0).element, "floating-point types");
  return std::vector<TensorType>{{element, call.input(0).shape}};
}

template <class P, class Y>
Kernel draws(const OperatorCall& call) {
  return {[sequenceOf = NodeDraws(call.node), count = call.input(0).elements(),
           title = call.title()](const KernelArguments& a) -> Status {
            const RandomSequence sequence = sequenceOf.sequence(a.identity);
            const P* p = a.input<P>(0);
            Y* y = a.output<Y>(0);
            for (std::int64_t i = 0; i < count; ++i) {
              double probability = 0;
              if constexpr (requires { widened(p[i]); } && std::is_class_v<P>) {
                probability = static_cast<double>(widened(p[i]));
              } else {
                probability = static_cast<double>(p[i]);
              }
              if (!(probability >= 0 && probability <= 1))
                return badInput(fmt::format("{}: {} is no probability; give 0 to 1", title, probability));
              const bool one = uniformAt(sequence, i) < probability;
              if constexpr (std::is_class_v<Y>) {
                narrow(one ? 1.0F : 0.0F, y[i]);
              } else {
                y[i] = static_cast<Y>(one);
              }
            }
            return {};
          },
          0};
}

template <class P>
Result<Kernel> drawsAs(const OperatorCall& call) {
  switch (call.outputs[0].element) {
    case ElementType::float32:
      return draws<P, float>(call);
    case ElementType::float64:
      return draws<P, double>(call);
    case ElementType::float16:
      return draws<P, Float16>(call);
    case ElementType::bfloat16:
      return draws<P, BFloat16>(call);
    case ElementType::boolean:
      return draws<P, bool>(call);
    default:
      return kernelForIntegers(call, call.outputs[0].element, [&]<class Y>(Y) { return draws<P, Y>(call); });
  }
}

Result<Kernel> bernoulliKernel(const OperatorCall& call) {
  switch (call.input(0).element) {
    case ElementType::float32:
      return drawsAs<float>(call);
    case ElementType::float64:
      return drawsAs<double>(call);
    case ElementType::float16:
      return drawsAs<Float16>(call);
    default:
      return drawsAs<BFloat16>(call);
  }
}

std::vector<Work> bernoulliWork(const OperatorCall& call) {
  return {{Random{call.outputs[0].elements(), call.outputs[0].element}, 1, ""}};
}

// --- Multinomial: log-probabilities (rows × classes) → classes drawn (rows × sample_size)

Result<std::vector<TensorType>> inferMultinomial(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const ElementType element, elementTypeAttribute(call, "dtype", ElementType::int32));
  const Shape& x = call.input(0).shape;
  const std::int64_t samples = graph::intAttribute(call.node, "sample_size", 1);
  if (x.size() != 2 || x[1] < 1 || samples < 1 ||
      (element != ElementType::int32 && element != ElementType::int64)) {
    return badInput(
        fmt::format("{}: its input is {}, sample_size {} and dtype {}; it needs rows of classes, a sample "
                    "at least, and int32 or int64",
                    call.title(), graph::toString(call.input(0)), samples, graph::toString(element)));
  }
  return inferredAs(call, element, {x[0], samples});
}

struct MultinomialSetup {
  std::int64_t rows = 0, classes = 0, samples = 0;
  NodeDraws draws;
  std::string title;
};

/// Running sums of the probabilities; false if they are not numbers.
template <class T>
bool accumulateBernoulli(const T* x, std::int64_t classes, double* sums) {
  const double most = static_cast<double>(*std::max_element(x, x + classes));
  double sum = 0;
  for (std::int64_t c = 0; c < classes; ++c) sums[c] = sum += std::exp(static_cast<double>(x[c]) - most);
  return std::isfinite(sum) && sum > 0;
}

template <class T, class Index>
Status multinomial(const MultinomialSetup& setup, const KernelArguments& a) {
  const RandomSequence sequence = setup.draws.sequence(a.identity);
  auto* sums = a.scratchAs<double>();
  Index* y = a.output<Index>(0);
  for (std::int64_t row = 0; row < setup.rows; ++row) {
    if (!accumulateBernoulli(a.input<T>(0) + row * setup.classes, setup.classes, sums))
      return badInput(fmt::format("{}: row {} holds no probabilities", setup.title, row));
    for (std::int64_t s = 0; s < setup.samples; ++s) {
      const double at = uniformAt(sequence, row * setup.samples + s) * sums[setup.classes - 1];
      const double* found = std::upper_bound(sums, sums + setup.classes - 1, at);
      *y++ = static_cast<Index>(found - sums);
    }
  }
  return {};
}

Result<Kernel> multinomialKernel(const OperatorCall& call) {
  const MultinomialSetup setup{call.input(0).shape[0], call.input(0).shape[1], call.outputs[0].shape[1],
                               NodeDraws(call.node), call.title()};
  const bool wide = call.outputs[0].element == ElementType::int64;
  return kernelForFloats(call, call.input(0).element, [&]<class T>(T) {
    return Kernel{[setup, wide](const KernelArguments& a) -> Status {
                    return wide ? multinomial<T, std::int64_t>(setup, a)
                                : multinomial<T, std::int32_t>(setup, a);
                  },
                  setup.classes * 8};
  });
}

std::vector<Work> multinomialWork(const OperatorCall& call) {
  const TensorType& x = call.input(0);
  return {{Map{MapFunction::exp, x.elements(), 1, x.element, false}, 1, "Exp"},
          {Random{call.outputs[0].elements(), call.outputs[0].element}, 1, "Draw"}};
}

/// A draw does not depend smoothly on its probability; PyTorch's bernoulli has a zero gradient, too.
Status noGradientOfDraws(GradientBuilder&) {
  return {};
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(bernoulli) {
  registry.add({.type = "Bernoulli",
                .attributes = {{"dtype", AttributeKind::integer}, {"seed", AttributeKind::real}},
                .infer = inferBernoulli,
                .kernel = bernoulliKernel,
                .work = bernoulliWork,
                .gradient = noGradientOfDraws});
  registry.add({.type = "Multinomial",
                .attributes = {{"dtype", AttributeKind::integer},
                               {"sample_size", AttributeKind::integer},
                               {"seed", AttributeKind::real}},
                .infer = inferMultinomial,
                .kernel = multinomialKernel,
                .work = multinomialWork});
}

}  // namespace pipescope::ops
