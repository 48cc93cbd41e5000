// QuantizeLinear and DequantizeLinear convert to 8-bit numbers and back, with one scale or one for each index
// of an axis.
#include <fmt/format.h>

#include "engine/ops/quantized/quantization.h"

namespace pipescope::ops {

using base::badInput;

Status requireScale(const OperatorCall& call, std::size_t scale, std::size_t zeroPoint, ElementType element,
                    std::int64_t count) {
  const TensorType& type = call.input(scale);
  const bool one = type.elements() == 1 && type.shape.size() <= 1;
  if (type.element != ElementType::float32 || (!one && type.shape != Shape{count})) {
    return badInput(fmt::format("{}: its scale (input {}) is {}; it must be float32, one number or {}",
                                call.title(), scale, graph::toString(type), count));
  }
  if (!call.has(zeroPoint)) return {};
  const TensorType& zero = call.input(zeroPoint);
  if (zero.element == element && zero.elements() == type.elements()) return {};
  return badInput(fmt::format("{}: its zero point (input {}) is {}; it must be {} and as long as its scale",
                              call.title(), zeroPoint, graph::toString(zero), graph::toString(element)));
}

Status requireQuantized(const OperatorCall& call, std::size_t input) {
  const ElementType element = call.input(input).element;
  if (element == ElementType::int8 || element == ElementType::uint8) return {};
  return badInput(fmt::format("{}: input {} is {}; it must be int8 or uint8", call.title(), input,
                              graph::toString(element)));
}

Result<QuantizationSetup> quantizationSetup(const OperatorCall& call, std::size_t scale,
                                            std::size_t zeroPoint) {
  const Shape& x = call.input(0).shape;
  QuantizationSetup setup;
  const ElementType zero = call.has(zeroPoint) ? call.input(zeroPoint).element : ElementType::uint8;
  if (call.input(scale).elements() == 1 && call.input(scale).shape.size() <= 1) {
    PIPESCOPE_TRY(requireScale(call, scale, zeroPoint, zero, 1));
    setup.inner = call.input(0).elements();
    return setup;
  }
  PIPESCOPE_ASSIGN(const std::size_t axis, axisAttribute(call, 1, x.size()));
  PIPESCOPE_TRY(requireScale(call, scale, zeroPoint, zero, x[axis]));
  setup.outer = extentsWithin(x, 0, axis);
  setup.channels = x[axis];
  setup.inner = extentsWithin(x, axis + 1, x.size());
  return setup;
}

namespace {

std::vector<Work> mapWork(const OperatorCall& call, MapFunction function) {
  return {{Map{function, call.input(0).elements(), 1, call.input(0).element, false}, 1, ""}};
}

// --- QuantizeLinear: x, scale, [zero point] → y ----------------------------------------

Result<std::vector<TensorType>> inferQuantize(const OperatorCall& call) {
  PIPESCOPE_TRY(quantizationSetup(call, 1, 2));
  if (call.has(2)) PIPESCOPE_TRY(requireQuantized(call, 2));
  return std::vector<TensorType>{
      {call.has(2) ? call.input(2).element : ElementType::uint8, call.input(0).shape}};
}

template <class X, class Q>
Kernel quantizes(const QuantizationSetup& setup) {
  return {[setup](const KernelArguments& a) -> Status {
            const X* x = a.input<X>(0);
            const float* scales = a.input<float>(1);
            const Q* zeros = a.input<Q>(2);
            Q* y = a.output<Q>(0);
            for (std::int64_t o = 0; o < setup.outer; ++o) {
              for (std::int64_t c = 0; c < setup.channels; ++c) {
                const float scale = scales[c];
                const Q zero = zeros ? zeros[c] : Q(0);
                for (std::int64_t i = 0; i < setup.inner; ++i)
                  *y++ = saturated(static_cast<double>(static_cast<float>(*x++) / scale), zero);
              }
            }
            return {};
          },
          0};
}

Result<Kernel> quantizeKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const QuantizationSetup setup, quantizationSetup(call, 1, 2));
  const ElementType result = call.outputs[0].element;
  if (call.input(0).element == ElementType::int32)
    return kernelForQuantized(call, result, [&]<class Q>(Q) { return quantizes<std::int32_t, Q>(setup); });
  if (call.input(0).element != ElementType::float32)
    return unsupportedType(call, call.input(0).element, "float32 and int32");
  return kernelForQuantized(call, result, [&]<class Q>(Q) { return quantizes<float, Q>(setup); });
}

// --- DequantizeLinear: x, scale, [zero point] → y --------------------------------------

Result<std::vector<TensorType>> inferDequantize(const OperatorCall& call) {
  PIPESCOPE_TRY(quantizationSetup(call, 1, 2));
  const ElementType element = call.input(0).element;
  if (element != ElementType::int32) PIPESCOPE_TRY(requireQuantized(call, 0));
  if (call.has(2)) PIPESCOPE_TRY(requireSameElementTypes(call, {0, 2}));
  return std::vector<TensorType>{{ElementType::float32, call.input(0).shape}};
}

template <class Q>
Kernel dequantizes(const QuantizationSetup& setup) {
  return {[setup](const KernelArguments& a) -> Status {
            const Q* x = a.input<Q>(0);
            const float* scales = a.input<float>(1);
            const Q* zeros = a.input<Q>(2);
            float* y = a.output<float>(0);
            for (std::int64_t o = 0; o < setup.outer; ++o) {
              for (std::int64_t c = 0; c < setup.channels; ++c) {
                const float scale = scales[c];
                const std::int64_t zero = zeros ? std::int64_t{zeros[c]} : 0;
                for (std::int64_t i = 0; i < setup.inner; ++i)
                  *y++ = static_cast<float>(std::int64_t{*x++} - zero) * scale;
              }
            }
            return {};
          },
          0};
}

Result<Kernel> dequantizeKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const QuantizationSetup setup, quantizationSetup(call, 1, 2));
  if (call.input(0).element == ElementType::int32) return dequantizes<std::int32_t>(setup);
  return kernelForQuantized(call, call.input(0).element, [&]<class Q>(Q) { return dequantizes<Q>(setup); });
}

std::vector<Work> quantizeWork(const OperatorCall& call) {
  return mapWork(call, MapFunction::quantize);
}

std::vector<Work> dequantizeWork(const OperatorCall& call) {
  return mapWork(call, MapFunction::dequantize);
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(quantize_linear) {
  registry.add({.type = "QuantizeLinear",
                .attributes = {{"axis", AttributeKind::integer}},
                .minInputs = 2,
                .maxInputs = 3,
                .infer = inferQuantize,
                .kernel = quantizeKernel,
                .work = quantizeWork});
  registry.add({.type = "DequantizeLinear",
                .attributes = {{"axis", AttributeKind::integer}},
                .minInputs = 2,
                .maxInputs = 3,
                .infer = inferDequantize,
                .kernel = dequantizeKernel,
                .work = dequantizeWork});
}

}  // namespace pipescope::ops
