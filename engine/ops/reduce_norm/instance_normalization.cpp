// InstanceNormalization: x, scale, bias → y, with each channel of each sample normalized by its own mean and
// variance. GradInstanceNormalization: x, scale, dy → dx, dscale, dbias.
#include <fmt/format.h>

#include "engine/ops/core/dispatch.h"
#include "engine/ops/core/gradient_builder.h"
#include "engine/ops/core/ranges.h"
#include "engine/ops/reduce_norm/normalization.h"

namespace pipescope::ops {
namespace {

using base::badInput;

struct InstanceSetup {
  std::int64_t samples = 0, channels = 0, depth = 0;
  double epsilon = 1e-5;
};

Result<InstanceSetup> instanceNormSetupOf(const OperatorCall& call) {
  const Shape& x = call.input(0).shape;
  if (x.size() < 3) {
    return badInput(
        fmt::format("{}: its input is {}; it needs a batch, channels and at least one spatial axis",
                    call.title(), graph::toString(call.input(0))));
  }
  const TensorType expected{call.input(0).element, {x[1]}};
  if (call.input(1) != expected) {
    return badInput(fmt::format("{}: its scale is {}; it must be {}", call.title(),
                                graph::toString(call.input(1)), graph::toString(expected)));
  }
  return InstanceSetup{x[0], x[1], graph::elementCount(Shape(x.begin() + 2, x.end())),
                       graph::floatAttribute(call.node, "epsilon", double(1e-5F))};
}

Result<std::vector<TensorType>> inferInstanceNorm(const OperatorCall& call) {
  PIPESCOPE_TRY(instanceNormSetupOf(call));
  PIPESCOPE_TRY(requireSameTypes(call, 1, 2));
  return std::vector<TensorType>{call.input(0)};
}

Result<Kernel> instanceNormKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const InstanceSetup setup, instanceNormSetupOf(call));
  return kernelForFloats(call, call.input(0).element, [&]<class T>(T) {
    return Kernel{
        [setup](const KernelArguments& a) -> Status {
          const Pieces pieces{1, 0, setup.depth};
          forItems(a, setup.samples * setup.channels, setup.depth, [&](std::int64_t first, std::int64_t end) {
            for (std::int64_t i = first; i < end; ++i) {
              const T* x = a.input<T>(0) + i * setup.depth;
              const Moments<T> own = momentsOf(pieces, x);
              const T mean = own.mean, bias = a.input<T>(2)[i % setup.channels],
                      factor = a.input<T>(1)[i % setup.channels] * own.inverse(setup.epsilon);
              mapOne(x, a.output<T>(0) + i * setup.depth, setup.depth,
                     [=](T value) { return (value - mean) * factor + bias; });
            }
          });
          return {};
        },
        0};
  });
}

std::vector<Work> instanceNormWork(const OperatorCall& call) {
  const InstanceSetup setup = *instanceNormSetupOf(call);
  const ElementType type = call.input(0).element;
  const std::int64_t all = call.input(0).elements(), rows = setup.samples * setup.channels;
  return {{Reduce{ReduceFunction::mean, rows, setup.depth, true, type}, 1, "Mean"},
          {Reduce{ReduceFunction::squareSum, rows, setup.depth, true, type}, 1, "Variance"},
          {Map{MapFunction::rsqrt, rows, 1, type, true}, 1, "InverseDeviation"},
          {Map{MapFunction::subtract, all, 2, type, false}, 1, "Centre"},
          {Map{MapFunction::multiply, all, 2, type, true}, 1, "Scale"},
          {Map{MapFunction::add, all, 2, type, true}, 1, "Bias"}};
}

Status instanceNormGradient(GradientBuilder& builder) {
  const Node& node = builder.node();
  PIPESCOPE_ASSIGN(
      const std::vector<graph::TensorId> gradients,
      builder.addMany("GradInstanceNormalization", "grad_input",
                      {node.inputs[0], node.inputs[1], builder.outputGradient(0)}, node.attributes, 3));
  for (std::size_t i = 0; i < 3; ++i) {
    if (builder.wants(i)) builder.setInputGradient(i, gradients[i]);
  }
  return {};
}

Result<std::vector<TensorType>> inferInstanceNormGradient(const OperatorCall& call) {
  PIPESCOPE_TRY(instanceNormSetupOf(call));
  PIPESCOPE_TRY(requireSameTypes(call, 0, 2));
  return std::vector<TensorType>{call.input(0), call.input(1), call.input(1)};
}

/// The sums of a channel run over the samples in ascending order.
template <class T>
void computeInstanceNormGradient(const InstanceSetup& setup, const KernelArguments& a) {
  const Pieces pieces{1, 0, setup.depth};
  forItems(a, setup.channels, setup.samples * setup.depth, [&](std::int64_t first, std::int64_t end) {
    for (std::int64_t c = first; c < end; ++c) {
      T scale = 0, bias = 0;
      for (std::int64_t n = 0; n < setup.samples; ++n) {
        const std::int64_t at = (n * setup.channels + c) * setup.depth;
        const T *x = a.input<T>(0) + at, *dy = a.input<T>(2) + at;
        const Moments<T> own = momentsOf(pieces, x);
        const T inverse = own.inverse(setup.epsilon);
        const GradientSums<T> sums = gradientSums(pieces, x, dy, own.mean, inverse);
        scale += sums.scale;
        bias += sums.bias;
        applyGradient(pieces, GradientLine<T>(own.mean, inverse, a.input<T>(1)[c], sums, setup.depth), x, dy,
                      a.output<T>(0) + at);
      }
      a.output<T>(1)[c] = scale;
      a.output<T>(2)[c] = bias;
    }
  });
}

Result<Kernel> instanceNormGradientKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const InstanceSetup setup, instanceNormSetupOf(call));
  return kernelForFloats(call, call.input(0).element, [&]<class T>(T) {
    return Kernel{[setup](const KernelArguments& a) -> Status {
                    computeInstanceNormGradient<T>(setup, a);
                    return {};
                  },
                  0};
  });
}

std::vector<Work> instanceNormGradientWork(const OperatorCall& call) {
  const InstanceSetup setup = *instanceNormSetupOf(call);
  const ElementType type = call.input(0).element;
  const std::int64_t all = call.input(0).elements(), rows = setup.samples * setup.channels;
  return {{Map{MapFunction::multiply, all, 2, type, false}, 1, "Whitened"},
          {Reduce{ReduceFunction::sum, rows, setup.depth, true, type}, 2, "Sums"},
          {Reduce{ReduceFunction::sum, setup.channels, setup.samples, false, type}, 2, "GradScaleBias"},
          {Map{MapFunction::multiply, all, 2, type, true}, 1, "Scale"},
          {Map{MapFunction::scaledAdd, all, 2, type, true}, 2, "Centre"}};
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(instance_normalization) {
  registry.add({.type = "InstanceNormalization",
                .attributes = {{"epsilon", AttributeKind::real}},
                .minInputs = 3,
                .maxInputs = 3,
                .infer = inferInstanceNorm,
                .kernel = instanceNormKernel,
                .work = instanceNormWork,
                .gradient = instanceNormGradient,
                .inPlaceInput = 0});
  registry.add({.type = "GradInstanceNormalization",
                .attributes = {{"epsilon", AttributeKind::real}},
                .minInputs = 3,
                .maxInputs = 3,
                .maxOutputs = 3,
                .infer = inferInstanceNormGradient,
                .kernel = instanceNormGradientKernel,
                .work = instanceNormGradientWork,
                .inPlaceInput = 2});
}

}  // namespace pipescope::ops
