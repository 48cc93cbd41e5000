// AveragePool and GlobalAveragePool; GradAveragePool (dy → dx, attribute input_shape) serves both. With
// count_include_pad the divisor counts padding, but never what ceil_mode adds beyond it, as in PyTorch.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "engine/ops/core/axis_rows.h"
#include "engine/ops/core/dispatch.h"
#include "engine/ops/core/gradient_builder.h"
#include "engine/ops/core/window.h"

namespace pipescope::ops {
namespace {

using base::badInput;

struct AverageSetup {
  Window window;
  std::int64_t planes = 0;
  bool countPadding = false;
  bool wholePlane = false;  ///< one window covers everything and nothing else
};

/// The taps of one axis at one output position: input positions [first, end), and how many of them the
/// divisor counts.
struct Span {
  std::int64_t first = 0, end = 0, counted = 0;
};

Span spanAt(const AverageSetup& setup, std::size_t axis, std::int64_t position) {
  const Window& w = setup.window;
  const std::int64_t start = position * w.stride[axis] - w.padBegin[axis];
  const std::int64_t stop = std::min(start + w.kernel[axis], w.input[axis] + w.padEnd[axis]);
  Span span;
  span.first = std::max<std::int64_t>(start, 0);
  span.end = std::max(span.first, std::min(stop, w.input[axis]));
  span.counted = setup.countPadding ? stop - start : span.end - span.first;
  return span;
}

Result<AverageSetup> averagePoolSetupOf(const OperatorCall& call, const Shape& x) {
  if (x.size() < 3) {
    return badInput(
        fmt::format("{}: its input has {} axes; it needs a batch, channels and at least one spatial axis",
                    call.title(), x.size()));
  }
  AverageSetup setup;
  setup.planes = x[0] * x[1];
  setup.countPadding = graph::intAttribute(call.node, "count_include_pad", 0) != 0;
  const bool whole = call.node.op == "GlobalAveragePool" || graph::intAttribute(call.node, "global", 0) != 0;
  std::vector<std::int64_t> kernel(x.begin() + 2, x.end());
  if (!whole) kernel = graph::intsAttribute(call.node, "kernel_shape", {});
  if (kernel.empty()) return badInput(fmt::format("{}: attribute kernel_shape is missing", call.title()));
  PIPESCOPE_ASSIGN(setup.window, windowOf(call, x, kernel));
  const Window& w = setup.window;
  setup.wholePlane = w.kernel == w.input && w.positions() == 1 &&
                     std::ranges::all_of(w.padding(), [](std::int64_t pad) { return pad == 0; });
  for (std::size_t a = 0; a < w.axes(); ++a) {
    for (const std::int64_t position : {std::int64_t{0}, w.output[a] - 1}) {
      const Span span = spanAt(setup, a, position);
      if (span.end > span.first) continue;
      return badInput(
          fmt::format("{}: on spatial axis {} a window covers padding only (padding {} + {}, kernel {}, "
                      "input {}); give less "
                      "padding",
                      call.title(), a, w.padBegin[a], w.padEnd[a], w.kernel[a], w.input[a]));
    }
  }
  return setup;
}

Shape outputShape(const AverageSetup& setup, const Shape& x) {
  Shape shape = setup.window.output;
  shape.insert(shape.begin(), {x[0], x[1]});
  return shape;
}

Result<std::vector<TensorType>> inferAverage(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const AverageSetup setup, averagePoolSetupOf(call, call.input(0).shape));
  return std::vector<TensorType>{{call.input(0).element, outputShape(setup, call.input(0).shape)}};
}

/// Calls visit(offset of an input row within its plane) for every row under the window at `outer`, in order.
template <class Visit>
std::int64_t forRows(const AverageSetup& setup, const Odometer& outer, Visit visit) {
  const Window& w = setup.window;
  const std::size_t inner = w.axes() - 1;
  std::array<std::int64_t, kMaxSpatialAxes> extents{}, starts{};
  std::int64_t rows = 1, counted = 1;
  for (std::size_t axis = 0; axis < inner; ++axis) {
    const Span span = spanAt(setup, axis, outer[axis]);
    starts[axis] = span.first;
    extents[axis] = span.end - span.first;
    rows *= extents[axis];
    counted *= span.counted;
  }
  Odometer tap(extents.data(), inner);
  for (std::int64_t r = 0; r < rows; ++r, tap.next()) {
    std::int64_t offset = 0;
    for (std::size_t axis = 0; axis < inner; ++axis)
      offset = offset * w.input[axis] + starts[axis] + tap[axis];
    visit(offset * w.input[inner]);
  }
  return counted;
}

/// Adds the rows under the window first, along contiguous memory, then the columns.
template <class T>
void average(const AverageSetup& setup, const T* x, T* y, T* sums) {
  const Window& w = setup.window;
  const std::size_t inner = w.axes() - 1;
  const std::int64_t width = w.input[inner], inputs = w.inputs(), outer = w.positions() / w.output[inner];
  if (setup.wholePlane) {
    for (std::int64_t p = 0; p < setup.planes; ++p, x += inputs)
      y[p] = laneSum<T>(inputs, [x](std::int64_t i) { return x[i]; }) / static_cast<T>(inputs);
    return;
  }
  for (std::int64_t p = 0; p < setup.planes; ++p, x += inputs) {
    Odometer position(w.output.data(), inner);
    for (std::int64_t r = 0; r < outer; ++r, position.next(), y += w.output[inner]) {
      std::fill_n(sums, width, T(0));
      const std::int64_t counted = forRows(setup, position, [&](std::int64_t row) {
        const T* from = x + row;
        for (std::int64_t i = 0; i < width; ++i) sums[i] += from[i];
      });
      for (std::int64_t i = 0; i < w.output[inner]; ++i) {
        const Span span = spanAt(setup, inner, i);
        const T sum =
            laneSum<T>(span.end - span.first, [=](std::int64_t at) { return sums[span.first + at]; });
        y[i] = sum / static_cast<T>(counted * span.counted);
      }
    }
  }
}

Result<Kernel> averageKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const AverageSetup setup, averagePoolSetupOf(call, call.input(0).shape));
  return kernelForFloats(call, call.input(0).element, [&]<class T>(T) {
    return Kernel{[setup](const KernelArguments& a) -> Status {
                    average(setup, a.input<T>(0), a.output<T>(0), a.scratchAs<T>());
                    return {};
                  },
                  setup.window.input.back() * static_cast<std::int64_t>(sizeof(T))};
  });
}

Work averagePoolWork(const AverageSetup& setup, const Shape& x, ElementType type, bool backward) {
  Pool pool = poolOf({type, x}, setup.window, PoolFunction::average);
  pool.backward = backward;
  return {pool, 1, ""};
}

std::vector<Work> averageWork(const OperatorCall& call) {
  const Shape& x = call.input(0).shape;
  const AverageSetup setup = *averagePoolSetupOf(call, x);
  if (call.node.op == "GlobalAveragePool")
    return {{Reduce{ReduceFunction::mean, setup.planes, setup.window.inputs(), true, call.input(0).element},
             1, ""}};
  return {averagePoolWork(setup, x, call.input(0).element, false)};
}

Status averageGradient(GradientBuilder& builder) {
  graph::Attributes attributes = builder.node().attributes;
  attributes["input_shape"] = builder.call().input(0).shape;
  if (builder.node().op == "GlobalAveragePool") attributes["global"] = std::int64_t{1};
  return builder.addFor(0, "GradAveragePool", "grad_input", {builder.outputGradient(0)},
                        std::move(attributes));
}

// --- GradAveragePool ----------------------------------------------------------------------------

Shape inputShape(const OperatorCall& call) {
  return graph::intsAttribute(call.node, "input_shape", {});
}

Result<std::vector<TensorType>> inferAveragePoolGradient(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const AverageSetup setup, averagePoolSetupOf(call, inputShape(call)));
  const Shape expected = outputShape(setup, inputShape(call));
  if (call.input(0).shape != expected) {
    return badInput(fmt::format("{}: the gradient by its output is {}, but the output is {}", call.title(),
                                graph::toString(call.input(0)), fmt::join(expected, "x")));
  }
  return std::vector<TensorType>{{call.input(0).element, inputShape(call)}};
}

template <class T>
void spread(const AverageSetup& setup, const T* dy, T* dx, T* shares) {
  const Window& w = setup.window;
  const std::size_t inner = w.axes() - 1;
  const std::int64_t width = w.input[inner], inputs = w.inputs(), outer = w.positions() / w.output[inner];
  std::fill_n(dx, setup.planes * inputs, T(0));
  for (std::int64_t p = 0; p < setup.planes; ++p, dx += inputs) {
    Odometer position(w.output.data(), inner);
    for (std::int64_t r = 0; r < outer; ++r, position.next(), dy += w.output[inner]) {
      std::fill_n(shares, width, T(0));
      const std::int64_t counted = forRows(setup, position, [](std::int64_t) {});
      for (std::int64_t i = 0; i < w.output[inner]; ++i) {
        const Span span = spanAt(setup, inner, i);
        const T share = dy[i] / static_cast<T>(counted * span.counted);
        for (std::int64_t at = span.first; at < span.end; ++at) shares[at] += share;
      }
      forRows(setup, position, [&](std::int64_t row) {
        T* to = dx + row;
        for (std::int64_t i = 0; i < width; ++i) to[i] += shares[i];
      });
    }
  }
}

Result<Kernel> gradientKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const AverageSetup setup, averagePoolSetupOf(call, inputShape(call)));
  return kernelForFloats(call, call.input(0).element, [&]<class T>(T) {
    return Kernel{[setup](const KernelArguments& a) -> Status {
                    spread(setup, a.input<T>(0), a.output<T>(0), a.scratchAs<T>());
                    return {};
                  },
                  setup.window.input.back() * static_cast<std::int64_t>(sizeof(T))};
  });
}

std::vector<Work> averagePoolGradientWork(const OperatorCall& call) {
  const AverageSetup setup = *averagePoolSetupOf(call, inputShape(call));
  if (graph::intAttribute(call.node, "global", 0) != 0) {
    return {
        {Map{MapFunction::multiply, graph::elementCount(inputShape(call)), 1, call.input(0).element, false},
         1, "Spread"}};
  }
  return {averagePoolWork(setup, inputShape(call), call.input(0).element, true)};
}

std::vector<AttributeRule> averagePoolAttributes() {
  return {{"auto_pad", AttributeKind::text},
          {"ceil_mode", AttributeKind::integer},
          {"count_include_pad", AttributeKind::integer},
          {"kernel_shape", AttributeKind::integers},
          {"pads", AttributeKind::integers},
          {"strides", AttributeKind::integers}};
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(average_pool) {
  registry.add({.type = "AveragePool",
                .attributes = averagePoolAttributes(),
                .infer = inferAverage,
                .kernel = averageKernel,
                .work = averageWork,
                .gradient = averageGradient});
  registry.add({.type = "GlobalAveragePool",
                .infer = inferAverage,
                .kernel = averageKernel,
                .work = averageWork,
                .gradient = averageGradient});
  std::vector<AttributeRule> attributes = averagePoolAttributes();
  attributes.push_back({"global", AttributeKind::integer});
  attributes.push_back({"input_shape", AttributeKind::integers});
  registry.add({.type = "GradAveragePool",
                .attributes = attributes,
                .infer = inferAveragePoolGradient,
                .kernel = gradientKernel,
                .work = averagePoolGradientWork});
}

}  // namespace pipescope::ops
