// QLinearConv convolves quantized numbers, sums in 32 bits with an int32 bias, and quantizes again. x and y
// have one scale each, the weight has one or one for each filter; so do its zero points.
#include <fmt/format.h>

#include <algorithm>

#include "engine/ops/conv/conv_kernels.h"
#include "engine/ops/conv/conv_setup.h"
#include "engine/ops/quantized/quantization.h"

namespace pipescope::ops {
namespace {

using base::badInput;

Result<ConvSetup> qlinearConvSetupOf(const OperatorCall& call) {
  const Shape& x = call.input(0).shape;
  const Shape& w = call.input(3).shape;
  if (w.size() != x.size() || w.size() < 3) {
    return badInput(fmt::format("{}: its weight is {} and its input {}; both need as many axes, 3 or more",
                                call.title(), extentsText(w), extentsText(x)));
  }
  const Ints kernel(w.begin() + 2, w.end());
  if (graph::intsAttribute(call.node, "kernel_shape", kernel) != kernel)
    return badInput(
        fmt::format("{}: kernel_shape is not its weight's {}", call.title(), extentsText(kernel)));
  ConvSetup setup;
  setup.groups = graph::intAttribute(call.node, "group", 1);
  if (setup.groups < 1 || w[0] % setup.groups != 0 || x[1] != w[1] * setup.groups) {
    return badInput(fmt::format("{}: a weight of {} in {} groups does not fit its input {}", call.title(),
                                extentsText(w), setup.groups, extentsText(x)));
  }
  setup.batch = x[0];
  setup.inChannels = w[1];
  setup.outChannels = w[0] / setup.groups;
  PIPESCOPE_ASSIGN(setup.window, windowOf(call, x, kernel));
  return setup;
}

Result<std::vector<TensorType>> inferQLinearConv(const OperatorCall& call) {
  for (const std::size_t input : {0, 3, 7}) PIPESCOPE_TRY(requireQuantized(call, input));
  PIPESCOPE_ASSIGN(const ConvSetup setup, qlinearConvSetupOf(call));
  const std::int64_t filters = setup.groups * setup.outChannels;
  PIPESCOPE_TRY(requireScale(call, 1, 2, call.input(0).element, 1));
  PIPESCOPE_TRY(requireScale(call, 4, 5, call.input(3).element, filters));
  PIPESCOPE_TRY(requireScale(call, 6, 7, call.input(7).element, 1));
  if (call.has(8) && call.input(8) != TensorType{ElementType::int32, {filters}}) {
    return badInput(fmt::format("{}: its bias is {}; it must be {} int32", call.title(),
                                graph::toString(call.input(8)), filters));
  }
  Shape shape = setup.window.output;
  shape.insert(shape.begin(), {setup.batch, filters});
  return inferredAs(call, call.input(7).element, std::move(shape));
}

/// Σ (x − zeroX)·(w − zeroW) over the taps of one output position that lie within the input.
template <class X, class W>
std::int32_t sumAt(const ConvSetup& setup, const Odometer& position, const X* x, std::int32_t zeroX,
                   const W* w, std::int32_t zeroW) {
  const Window& window = setup.window;
  std::uint32_t sum = 0;  // wraps, as 32-bit sums do
  Odometer tap(window.kernel.data(), window.axes());
  for (std::int64_t t = 0; t < window.taps(); ++t, tap.next()) {
    std::int64_t at = 0;
    bool inside = true;
    for (std::size_t a = 0; a < window.axes(); ++a) {
      const std::int64_t i =
          position[a] * window.stride[a] + tap[a] * window.dilation[a] - window.padBegin[a];
      inside = inside && i >= 0 && i < window.input[a];
      at = at * window.input[a] + i;
    }
    if (!inside) continue;
    for (std::int64_t c = 0; c < setup.inChannels; ++c) {
      sum += static_cast<std::uint32_t>((std::int32_t{x[c * window.inputs() + at]} - zeroX) *
                                        (std::int32_t{w[c * window.taps() + t]} - zeroW));
    }
  }
  return static_cast<std::int32_t>(sum);
}

template <class X, class W, class Y>
void convolve(const ConvSetup& setup, const KernelArguments& a, bool filterScales) {
  const Window& window = setup.window;
  const std::int64_t filters = setup.groups * setup.outChannels;
  const double scale = static_cast<double>(*a.input<float>(1)) / static_cast<double>(*a.input<float>(6));
  const std::int32_t zeroX = *a.input<X>(2);
  const Y zeroY = *a.input<Y>(7);
  const std::int32_t* bias = a.input<std::int32_t>(8);
  Y* y = a.output<Y>(0);
  for (std::int64_t image = 0; image < setup.batch; ++image) {
    for (std::int64_t filter = 0; filter < filters; ++filter) {
      const std::int64_t group = filter / setup.outChannels, own = filterScales ? filter : 0;
      const X* x = a.input<X>(0) + (image * setup.groups + group) * setup.inChannels * window.inputs();
      const W* w = a.input<W>(3) + filter * setup.depth();
      const double factor = scale * static_cast<double>(a.input<float>(4)[own]);
      Odometer position(window.output.data(), window.axes());
      for (std::int64_t p = 0; p < window.positions(); ++p, position.next()) {
        const std::int32_t sum = sumAt(setup, position, x, zeroX, w, std::int32_t{a.input<W>(5)[own]});
        *y++ = saturated((static_cast<double>(sum) + (bias ? bias[filter] : 0)) * factor, zeroY);
      }
    }
  }
}

Result<Kernel> qlinearConvKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const ConvSetup setup, qlinearConvSetupOf(call));
  const bool filterScales = call.input(4).elements() != 1;
  return kernelForQuantized(call, call.input(0).element, [&]<class X>(X) {
    return *kernelForQuantized(call, call.input(3).element, [&]<class W>(W) {
      return *kernelForQuantized(call, call.input(7).element, [&]<class Y>(Y) {
        return Kernel{[setup, filterScales](const KernelArguments& a) -> Status {
                        convolve<X, W, Y>(setup, a, filterScales);
                        return {};
                      },
                      0};
      });
    });
  });
}

std::vector<Work> qlinearConvWork(const OperatorCall& call) {
  const ConvSetup setup = *qlinearConvSetupOf(call);
  Contraction c = convContraction(setup, Contraction::Phase::forward, call.input(0).element);
  c.accumulate = ElementType::int32;
  const std::int64_t elements = call.outputs[0].elements();
  return {{c, 1, "Convolve"},
          {Map{MapFunction::quantize, elements, 1, ElementType::int32, false}, 1, "Quantize"}};
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(qlinear_conv) {
  registry.add({.type = "QLinearConv",
                .attributes = convAttributes(nullptr),
                .minInputs = 8,
                .maxInputs = 9,
                .infer = inferQLinearConv,
                .kernel = qlinearConvKernel,
                .work = qlinearConvWork});
}

}  // namespace pipescope::ops
