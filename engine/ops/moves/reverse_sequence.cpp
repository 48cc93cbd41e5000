// ReverseSequence reverses the first elements of each sequence, as many as its length says. It is its own
// gradient.
#include <fmt/format.h>

#include <cstring>

#include "engine/ops/core/gradient_builder.h"
#include "engine/ops/core/shape_tools.h"

namespace pipescope::ops {
namespace {

Result<std::vector<TensorType>> inferReverse(const OperatorCall& call) {
  const TensorType& x = call.input(0);
  const std::int64_t batchAxis = graph::intAttribute(call.node, "batch_axis", 1);
  const std::int64_t timeAxis = graph::intAttribute(call.node, "time_axis", 0);
  if (x.shape.size() < 2 || batchAxis + timeAxis != 1 || batchAxis * timeAxis != 0) {
    return base::badInput(
        fmt::format("{}: its input is {}, batch_axis {} and time_axis {}; axes 0 and 1 must be the "
                    "two",
                    call.title(), graph::toString(x), batchAxis, timeAxis));
  }
  const TensorType lengths{ElementType::int64, {x.shape[static_cast<std::size_t>(batchAxis)]}};
  if (call.input(1) != lengths) {
    return base::badInput(fmt::format("{}: sequence_lens (input 1) is {}; it must be {}", call.title(),
                                      graph::toString(call.input(1)), graph::toString(lengths)));
  }
  return std::vector<TensorType>{x};
}

Result<Kernel> reverseKernel(const OperatorCall& call) {
  const TensorType& x = call.input(0);
  const bool batchFirst = graph::intAttribute(call.node, "batch_axis", 1) == 0;
  const std::int64_t batch = x.shape[batchFirst ? 0 : 1], time = x.shape[batchFirst ? 1 : 0];
  const std::int64_t run = extentsWithin(x.shape, 2, x.shape.size()) * graph::sizeOf(x.element);
  return Kernel{
      [=, title = call.title()](const KernelArguments& a) -> Status {
        if (a.outputs[0].empty()) return {};
        const std::int64_t* lengths = a.input<std::int64_t>(1);
        for (std::int64_t b = 0; b < batch; ++b) {
          if (lengths[b] < 0 || lengths[b] > time) {
            return base::badInput(fmt::format("{}: sequence {} is said to be {} long; there are {} steps",
                                              title, b, lengths[b], time));
          }
          for (std::int64_t t = 0; t < time; ++t) {
            const std::int64_t source = t < lengths[b] ? lengths[b] - 1 - t : t;
            const std::int64_t from = batchFirst ? b * time + source : source * batch + b;
            const std::int64_t to = batchFirst ? b * time + t : t * batch + b;
            std::memcpy(a.outputs[0].data() + to * run, a.inputs[0].data() + from * run,
                        static_cast<std::size_t>(run));
          }
        }
        return {};
      },
      0};
}

std::vector<Work> reverseWork(const OperatorCall& call) {
  const TensorType& x = call.input(0);
  return {{Rearrange{x.elements(), extentsWithin(x.shape, 2, x.shape.size()), x.element}, 1, ""}};
}

Status reverseGradient(GradientBuilder& builder) {
  return builder.addFor(0, "ReverseSequence", "grad_input",
                        {builder.outputGradient(0), builder.node().inputs[1]}, builder.node().attributes);
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(reverse_sequence) {
  registry.add({.type = "ReverseSequence",
                .attributes = {{"batch_axis", AttributeKind::integer}, {"time_axis", AttributeKind::integer}},
                .minInputs = 2,
                .maxInputs = 2,
                .infer = inferReverse,
                .kernel = reverseKernel,
                .work = reverseWork,
                .gradient = reverseGradient});
}

}  // namespace pipescope::ops
