// HannWindow, HammingWindow and BlackmanWindow: weights that fade out a signal's frame at both ends, as sums
// of cosines over its length (periodic) or its length minus one (symmetric).
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <numbers>

#include "engine/ops/core/dispatch.h"
#include "engine/ops/core/shape_tools.h"

namespace pipescope::ops {
namespace {

/// Σ aₖ·cos(2πkn ÷ N) with ONNX's coefficients.
std::array<double, 3> coefficientsOf(const std::string& op) {
  if (op == "HannWindow") return {0.5, -0.5, 0};
  if (op == "HammingWindow") return {25.0 / 46, -21.0 / 46, 0};
  return {0.42, -0.5, 0.08};
}

Result<std::vector<TensorType>> inferWindow(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const ElementType element,
                   elementTypeAttribute(call, "output_datatype", ElementType::float32));
  PIPESCOPE_ASSIGN(const Ints size, call.constantInts(0, "its size (input 0)"));
  if (size.size() != 1)
    return base::badInput(fmt::format("{}: its size has {} numbers; give one", call.title(), size.size()));
  return inferredAs(call, element, size);
}

Result<Kernel> windowKernel(const OperatorCall& call) {
  const std::int64_t count = call.outputs[0].elements();
  const bool periodic = graph::intAttribute(call.node, "periodic", 1) != 0;
  const std::array<double, 3> a = coefficientsOf(call.node.op);
  return kernelForNumbers(call, call.outputs[0].element, [=]<class T>(T) {
    return Kernel{[=](const KernelArguments& arguments) -> Status {
                    T* y = arguments.output<T>(0);
                    if (count == 1) {
                      *y = T(1);
                      return {};
                    }
                    const auto length = static_cast<double>(periodic ? count : count - 1);
                    for (std::int64_t n = 0; n < count; ++n) {
                      const double angle = 2 * std::numbers::pi * static_cast<double>(n) / length;
                      y[n] = static_cast<T>(a[0] + a[1] * std::cos(angle) + a[2] * std::cos(2 * angle));
                    }
                    return {};
                  },
                  0};
  });
}

std::vector<Work> windowWork(const OperatorCall& call) {
  const TensorType& y = call.outputs[0];
  return {{Map{MapFunction::cos, y.elements(), 1, y.element, false}, 1, ""}};
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(signal_windows) {
  for (const char* type : {"HannWindow", "HammingWindow", "BlackmanWindow"}) {
    registry.add(
        {.type = type,
         .attributes = {{"output_datatype", AttributeKind::integer}, {"periodic", AttributeKind::integer}},
         .infer = inferWindow,
         .kernel = windowKernel,
         .work = windowWork});
  }
}

}  // namespace pipescope::ops
