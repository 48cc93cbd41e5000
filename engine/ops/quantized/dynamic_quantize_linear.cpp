// DynamicQuantizeLinear quantizes to uint8, with the scale and zero point for the range of the data, extended
// to include 0. Data that are all 0 get the scale 1.
#include <algorithm>

#include "engine/ops/quantized/quantization.h"

namespace pipescope::ops {
namespace {

Result<std::vector<TensorType>> inferDynamic(const OperatorCall& call) {
  if (call.input(0).element != ElementType::float32)
    return unsupportedType(call, call.input(0).element, "float32");
  return std::vector<TensorType>{
      {ElementType::uint8, call.input(0).shape}, {ElementType::float32, {}}, {ElementType::uint8, {}}};
}

Result<Kernel> dynamicKernel(const OperatorCall& call) {
  return Kernel{[count = call.input(0).elements()](const KernelArguments& a) -> Status {
                  const float* x = a.input<float>(0);
                  float low = 0, high = 0;
                  for (std::int64_t i = 0; i < count; ++i) {
                    low = std::min(low, x[i]);
                    high = std::max(high, x[i]);
                  }
                  const float scale = low == high ? 1.0F : (high - low) / 255.0F;
                  const std::uint8_t zero =
                      saturated<std::uint8_t>(static_cast<double>(0.0F - low / scale), 0);
                  std::uint8_t* y = a.output<std::uint8_t>(0);
                  for (std::int64_t i = 0; y && i < count; ++i)
                    y[i] = saturated(static_cast<double>(x[i] / scale), zero);
                  if (float* to = a.output<float>(1)) *to = scale;
                  if (std::uint8_t* to = a.output<std::uint8_t>(2)) *to = zero;
                  return {};
                },
                0};
}

std::vector<Work> dynamicWork(const OperatorCall& call) {
  const TensorType& x = call.input(0);
  return {{Reduce{ReduceFunction::min, 1, x.elements(), true, x.element}, 1, "Min"},
          {Reduce{ReduceFunction::max, 1, x.elements(), true, x.element}, 1, "Max"},
          {Map{MapFunction::quantize, x.elements(), 1, x.element, false}, 1, "Quantize"}};
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(dynamic_quantize_linear) {
  registry.add({.type = "DynamicQuantizeLinear",
                .maxOutputs = 3,
                .infer = inferDynamic,
                .kernel = dynamicKernel,
                .work = dynamicWork});
}

}  // namespace pipescope::ops
