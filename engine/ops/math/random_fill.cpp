// RandomNormal, RandomUniform and both …Like fill a tensor with draws, which are a function of seed, node,
// iteration, micro-batch and replica.
#include <fmt/format.h>

#include "engine/ops/core/dispatch.h"
#include "engine/ops/core/gradient_builder.h"
#include "engine/ops/core/random_draws.h"
#include "engine/ops/core/shape_tools.h"

namespace pipescope::ops {
namespace {

Result<std::vector<TensorType>> inferShaped(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const ElementType element, elementTypeAttribute(call, "dtype", ElementType::float32));
  if (!call.node.attributes.contains("shape"))
    return base::badInput(fmt::format("{}: attribute shape is missing", call.title()));
  return inferredAs(call, element, graph::intsAttribute(call.node, "shape", {}));
}

Result<std::vector<TensorType>> inferLike(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const ElementType element, elementTypeAttribute(call, "dtype", call.input(0).element));
  return std::vector<TensorType>{{element, call.input(0).shape}};
}

Result<Kernel> normalKernel(const OperatorCall& call) {
  const double mean = graph::floatAttribute(call.node, "mean", 0);
  const double scale = graph::floatAttribute(call.node, "scale", 1);
  return kernelForFloats(call, call.outputs[0].element, [&]<class T>(T) {
    return Kernel{[draws = NodeDraws(call.node), count = call.outputs[0].elements(), mean,
                   scale](const KernelArguments& a) -> Status {
                    const RandomSequence sequence = draws.sequence(a.identity);
                    T* y = a.output<T>(0);
                    for (std::int64_t i = 0; i < count; ++i)
                      y[i] = static_cast<T>(mean + scale * normalAt(sequence, i));
                    return {};
                  },
                  0};
  });
}

Result<Kernel> uniformKernel(const OperatorCall& call) {
  const double low = graph::floatAttribute(call.node, "low", 0);
  const double high = graph::floatAttribute(call.node, "high", 1);
  return kernelForFloats(call, call.outputs[0].element, [&]<class T>(T) {
    return Kernel{[draws = NodeDraws(call.node), count = call.outputs[0].elements(), low,
                   high](const KernelArguments& a) -> Status {
                    const RandomSequence sequence = draws.sequence(a.identity);
                    T* y = a.output<T>(0);
                    for (std::int64_t i = 0; i < count; ++i) {
                      y[i] = static_cast<T>(low + (high - low) * uniformAt(sequence, i));
                      // Rounding may reach the upper end, which does not belong to the range.
                      if (y[i] >= static_cast<T>(high) && low < high)
                        y[i] = std::nextafter(static_cast<T>(high), static_cast<T>(low));
                    }
                    return {};
                  },
                  0};
  });
}

std::vector<Work> randomFillWork(const OperatorCall& call) {
  return {{Random{call.outputs[0].elements(), call.outputs[0].element}, 1, ""}};
}

/// Only the shape of the input is used.
Status noGradientOfShape(GradientBuilder&) {
  return {};
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(random_fill) {
  for (const bool normal : {true, false}) {
    for (const bool like : {true, false}) {
      OperatorDefinition definition;
      definition.type = std::string(normal ? "RandomNormal" : "RandomUniform") + (like ? "Like" : "");
      definition.attributes = {{"dtype", AttributeKind::integer},
                               {"seed", AttributeKind::real},
                               {normal ? "mean" : "low", AttributeKind::real},
                               {normal ? "scale" : "high", AttributeKind::real}};
      if (!like) {
        definition.attributes.push_back({"shape", AttributeKind::integers});
        definition.minInputs = definition.maxInputs = 0;
      }
      definition.infer = like ? inferLike : inferShaped;
      definition.kernel = normal ? normalKernel : uniformKernel;
      definition.work = randomFillWork;
      if (like) definition.gradient = noGradientOfShape;
      registry.add(std::move(definition));
    }
  }
}

}  // namespace pipescope::ops
