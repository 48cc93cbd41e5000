// GridSample reads the input at the points of a grid by nearest, bilinear or bicubic interpolation. Two
// operators give the gradients by the input and by the grid. Coordinates, padding and the cubic (a = −0.75)
// are those of PyTorch's grid_sample, which ONNX adopted.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/ops/core/dispatch.h"
#include "engine/ops/core/gradient_builder.h"
#include "engine/ops/core/shape_tools.h"

namespace pipescope::ops {
namespace {

using base::badInput;

enum class GridSampleInterpolation { nearest, bilinear, bicubic };
enum class Padding { zeros, border, reflection };

struct GridSetup {
  GridSampleInterpolation mode = GridSampleInterpolation::bilinear;
  Padding padding = Padding::zeros;
  bool alignCorners = false;
  std::int64_t batch = 0, channels = 0, height = 0, width = 0;
  std::int64_t points = 0;  ///< points of each image
};

/// The elements along one axis that make the value at a point, their weights, and the slopes of the weights
/// by the grid's coordinate. A place of −1 reads 0.
template <class T>
struct Taps {
  int count = 0;
  std::array<std::int64_t, 4> places{};
  std::array<T, 4> weights{}, slopes{};
};

template <class T>
struct Coordinate {
  T at = 0, slope = 0;
};

/// Mirrors at both ends: at the outermost elements with aligned corners, otherwise half an element further
/// out.
template <class T>
Coordinate<T> reflected(T x, std::int64_t extent, bool alignCorners) {
  const T low = alignCorners ? T(0) : T(-0.5);
  const T span = static_cast<T>(alignCorners ? extent - 1 : extent);
  if (span <= T(0)) return {T(0), T(0)};
  T distance = std::abs(x - low);
  const T sign = x < low ? T(-1) : T(1);
  const T flips = std::floor(distance / span);
  distance -= flips * span;
  const bool even = std::fmod(flips, T(2)) == T(0);
  return even ? Coordinate<T>{distance + low, sign} : Coordinate<T>{span - distance + low, -sign};
}

template <class T>
Coordinate<T> clipped(Coordinate<T> x, std::int64_t extent) {
  const T high = static_cast<T>(extent - 1);
  if (x.at <= T(0)) return {T(0), T(0)};
  if (x.at >= high) return {high, T(0)};
  return x;
}

template <class T>
Coordinate<T> padded(T x, std::int64_t extent, const GridSetup& setup) {
  if (setup.padding == Padding::zeros) return {x, T(1)};
  if (setup.padding == Padding::border) return clipped<T>({x, T(1)}, extent);
  return clipped(reflected(x, extent, setup.alignCorners), extent);
}

template <class T>
std::int64_t placeOf(T x, std::int64_t extent) {
  const auto place = static_cast<std::int64_t>(x);
  return place >= 0 && place < extent ? place : -1;
}

/// The weights of the four neighbours at a fraction of the way, and their slopes.
template <class T>
void cubicTaps(T fraction, Taps<T>& taps) {
  constexpr T kA = T(-0.75);
  for (int k = 0; k < 4; ++k) {
    const T distance = fraction + T(1 - k);
    const T d = std::abs(distance), sign = distance < T(0) ? T(-1) : T(1);
    const auto i = static_cast<std::size_t>(k);
    if (d <= T(1)) {
      taps.weights[i] = ((kA + T(2)) * d - (kA + T(3))) * d * d + T(1);
      taps.slopes[i] = sign * (T(3) * (kA + T(2)) * d - T(2) * (kA + T(3))) * d;
    } else {
      taps.weights[i] = ((kA * d - T(5) * kA) * d + T(8) * kA) * d - T(4) * kA;
      taps.slopes[i] = sign * ((T(3) * kA * d - T(10) * kA) * d + T(8) * kA);
    }
  }
}

/// `x` is the grid's coordinate, −1 … 1 over the extent.
template <class T>
Taps<T> tapsOf(T x, std::int64_t extent, const GridSetup& setup) {
  Taps<T> taps;
  const T scale = static_cast<T>(setup.alignCorners ? extent - 1 : extent) / T(2);
  T at = setup.alignCorners ? (x + T(1)) * scale : (x + T(1)) * scale - T(0.5);
  if (!(std::abs(at) < T(1 << 22))) at = T(-100);  // far outside or NaN: counts as outside
  if (setup.mode == GridSampleInterpolation::bicubic) {
    const T floor = std::floor(at);
    taps.count = 4;
    cubicTaps(at - floor, taps);
    for (std::size_t k = 0; k < 4; ++k) {
      taps.places[k] = placeOf(padded(floor + static_cast<T>(k) - T(1), extent, setup).at, extent);
      taps.slopes[k] *= scale;
    }
    return taps;
  }
  const Coordinate<T> inside = padded(at, extent, setup);
  if (setup.mode == GridSampleInterpolation::nearest) {
    taps.count = 1;
    taps.places[0] = placeOf(std::nearbyint(inside.at), extent);
    taps.weights[0] = T(1);
    return taps;
  }
  const T floor = std::floor(inside.at), fraction = inside.at - floor;
  taps.count = 2;
  taps.places = {placeOf(floor, extent), placeOf(floor + T(1), extent), -1, -1};
  taps.weights = {T(1) - fraction, fraction, T(0), T(0)};
  taps.slopes = {-inside.slope * scale, inside.slope * scale, T(0), T(0)};
  return taps;
}

Result<GridSetup> gridSampleSetupOf(const OperatorCall& call, const Shape& x, const Shape& grid) {
  GridSetup setup;
  const std::string mode = graph::stringAttribute(call.node, "mode", "bilinear");
  const std::string padding = graph::stringAttribute(call.node, "padding_mode", "zeros");
  if ((mode != "bilinear" && mode != "nearest" && mode != "bicubic") ||
      (padding != "zeros" && padding != "border" && padding != "reflection")) {
    return badInput(
        fmt::format("{}: mode is {} and padding_mode {}; they must be bilinear, nearest or bicubic, and "
                    "zeros, border or reflection",
                    call.title(), mode, padding));
  }
  setup.mode = mode == "nearest" ? GridSampleInterpolation::nearest
                                 : (mode == "bicubic" ? GridSampleInterpolation::bicubic
                                                      : GridSampleInterpolation::bilinear);
  setup.padding = padding == "border" ? Padding::border
                                      : (padding == "reflection" ? Padding::reflection : Padding::zeros);
  setup.alignCorners = graph::intAttribute(call.node, "align_corners", 0) != 0;
  if (x.size() != 4 || grid.size() != 4 || grid[3] != 2 || grid[0] != x[0] || x[2] < 1 || x[3] < 1) {
    return badInput(
        fmt::format("{}: its input is {} and its grid {}; it needs batch, channels, height and width, and "
                    "batch, height, width and 2",
                    call.title(), extentsText(x), extentsText(grid)));
  }
  setup.batch = x[0];
  setup.channels = x[1];
  setup.height = x[2];
  setup.width = x[3];
  setup.points = grid[1] * grid[2];
  return setup;
}

/// Calls visit(image, point, taps along y, taps along x) in order.
template <class T, class Visit>
void forPoints(const GridSetup& setup, const T* grid, const Visit& visit) {
  for (std::int64_t n = 0; n < setup.batch; ++n) {
    for (std::int64_t p = 0; p < setup.points; ++p, grid += 2)
      visit(n, p, tapsOf(grid[1], setup.height, setup), tapsOf(grid[0], setup.width, setup));
  }
}

/// Calls visit(element of the plane, index of the y tap, index of the x tap) for the taps within the plane.
template <class T, class Visit>
void forTaps(const GridSetup& setup, const Taps<T>& y, const Taps<T>& x, const Visit& visit) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(y.count); ++i) {
    for (std::size_t j = 0; j < static_cast<std::size_t>(x.count); ++j) {
      if (y.places[i] >= 0 && x.places[j] >= 0) visit(y.places[i] * setup.width + x.places[j], i, j);
    }
  }
}

// --- GridSample: X, grid → Y -----------------------------------------------------------

Result<std::vector<TensorType>> inferGridSample(const OperatorCall& call) {
  PIPESCOPE_TRY(requireSameElementTypes(call, {0, 1}));
  const Shape& grid = call.input(1).shape;
  PIPESCOPE_ASSIGN(const GridSetup setup, gridSampleSetupOf(call, call.input(0).shape, grid));
  return inferredAs(call, call.input(0).element, {setup.batch, setup.channels, grid[1], grid[2]});
}

Result<Kernel> gridSampleKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const GridSetup setup, gridSampleSetupOf(call, call.input(0).shape, call.input(1).shape));
  return kernelForFloats(call, call.input(0).element, [&setup]<class T>(T) {
    return Kernel{[setup](const KernelArguments& a) -> Status {
                    const T* x = a.input<T>(0);
                    T* y = a.output<T>(0);
                    const std::int64_t plane = setup.height * setup.width;
                    forPoints(
                        setup, a.input<T>(1),
                        [&](std::int64_t n, std::int64_t p, const Taps<T>& rows, const Taps<T>& columns) {
                          for (std::int64_t c = n * setup.channels; c < (n + 1) * setup.channels; ++c) {
                            T sum = 0;
                            forTaps(setup, rows, columns, [&](std::int64_t at, std::size_t i, std::size_t j) {
                              sum += rows.weights[i] * columns.weights[j] * x[c * plane + at];
                            });
                            y[c * setup.points + p] = sum;
                          }
                        });
                    return {};
                  },
                  0};
  });
}

std::int64_t tapsEach(const OperatorCall& call) {
  const std::string mode = graph::stringAttribute(call.node, "mode", "bilinear");
  return mode == "nearest" ? 1 : (mode == "bicubic" ? 16 : 4);
}

std::vector<Work> gridSampleWork(const OperatorCall& call) {
  const TensorType& y = call.outputs[0];
  const std::int64_t reads = y.elements() * tapsEach(call);
  return {{Gather{reads, 1, call.input(0).elements(), y.element}, 1, "Read"},
          {Map{MapFunction::scaledAdd, reads, 2, y.element, false}, 1, "Weigh"}};
}

Status gridSampleGradient(GradientBuilder& builder) {
  const Node& node = builder.node();
  const graph::TensorId dy = builder.outputGradient(0);
  if (builder.wants(0)) {
    graph::Attributes attributes = node.attributes;
    attributes["input_shape"] = builder.call().input(0).shape;
    PIPESCOPE_TRY(builder.addFor(0, "GradGridSampleInput", "grad_input", {dy, node.inputs[1]}, attributes));
  }
  if (builder.wants(1)) {
    PIPESCOPE_TRY(builder.addFor(1, "GradGridSampleGrid", "grad_grid", {dy, node.inputs[0], node.inputs[1]},
                                 node.attributes));
  }
  return {};
}

// --- GradGridSampleInput: dy, grid → dx; attribute input_shape -------------------------

Result<GridSetup> gradientSetup(const OperatorCall& call, const Shape& x, std::size_t grid) {
  PIPESCOPE_ASSIGN(const GridSetup setup, gridSampleSetupOf(call, x, call.input(grid).shape));
  const Shape expected{setup.batch, setup.channels, call.input(grid).shape[1], call.input(grid).shape[2]};
  if (call.input(0).shape == expected) return setup;
  return badInput(fmt::format("{}: the gradient by its output is {}, but the output is {}", call.title(),
                              extentsText(call.input(0).shape), extentsText(expected)));
}

Result<std::vector<TensorType>> inferInputGradient(const OperatorCall& call) {
  const Shape shape = graph::intsAttribute(call.node, "input_shape", {});
  PIPESCOPE_TRY(gradientSetup(call, shape, 1));
  return inferredAs(call, call.input(0).element, shape);
}

Result<Kernel> inputGradientKernel(const OperatorCall& call) {
  const Shape shape = graph::intsAttribute(call.node, "input_shape", {});
  PIPESCOPE_ASSIGN(const GridSetup setup, gradientSetup(call, shape, 1));
  return kernelForFloats(call, call.input(0).element, [&]<class T>(T) {
    return Kernel{[setup, count = graph::elementCount(shape)](const KernelArguments& a) -> Status {
                    const T* dy = a.input<T>(0);
                    T* dx = a.output<T>(0);
                    const std::int64_t plane = setup.height * setup.width;
                    std::fill_n(dx, count, T(0));
                    forPoints(
                        setup, a.input<T>(1),
                        [&](std::int64_t n, std::int64_t p, const Taps<T>& rows, const Taps<T>& columns) {
                          for (std::int64_t c = n * setup.channels; c < (n + 1) * setup.channels; ++c) {
                            const T gradient = dy[c * setup.points + p];
                            forTaps(setup, rows, columns, [&](std::int64_t at, std::size_t i, std::size_t j) {
                              dx[c * plane + at] += rows.weights[i] * columns.weights[j] * gradient;
                            });
                          }
                        });
                    return {};
                  },
                  0};
  });
}

std::vector<Work> inputGradientWork(const OperatorCall& call) {
  const TensorType& dy = call.input(0);
  return {{Scatter{dy.elements() * tapsEach(call), 1, call.outputs[0].elements(), true, dy.element}, 1, ""}};
}

// --- GradGridSampleGrid: dy, X, grid → gradient by the grid ----------------------------

Result<std::vector<TensorType>> inferGridGradient(const OperatorCall& call) {
  PIPESCOPE_TRY(gradientSetup(call, call.input(1).shape, 2));
  return std::vector<TensorType>{call.input(2)};
}

Result<Kernel> gridGradientKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const GridSetup setup, gradientSetup(call, call.input(1).shape, 2));
  return kernelForFloats(call, call.input(0).element, [&]<class T>(T) {
    return Kernel{[setup](const KernelArguments& a) -> Status {
                    const T* dy = a.input<T>(0);
                    const T* x = a.input<T>(1);
                    T* dGrid = a.output<T>(0);
                    const std::int64_t plane = setup.height * setup.width;
                    forPoints(
                        setup, a.input<T>(2),
                        [&](std::int64_t n, std::int64_t p, const Taps<T>& rows, const Taps<T>& columns) {
                          T alongX = 0, alongY = 0;
                          for (std::int64_t c = n * setup.channels; c < (n + 1) * setup.channels; ++c) {
                            const T gradient = dy[c * setup.points + p];
                            forTaps(setup, rows, columns, [&](std::int64_t at, std::size_t i, std::size_t j) {
                              const T share = gradient * x[c * plane + at];
                              alongX += share * rows.weights[i] * columns.slopes[j];
                              alongY += share * rows.slopes[i] * columns.weights[j];
                            });
                          }
                          dGrid[(n * setup.points + p) * 2] = alongX;
                          dGrid[(n * setup.points + p) * 2 + 1] = alongY;
                        });
                    return {};
                  },
                  0};
  });
}

std::vector<Work> gridGradientWork(const OperatorCall& call) {
  const TensorType& dy = call.input(0);
  const std::int64_t reads = dy.elements() * tapsEach(call);
  return {{Gather{reads, 1, call.input(1).elements(), dy.element}, 1, "Read"},
          {Map{MapFunction::scaledAdd, 2 * reads, 2, dy.element, false}, 1, "Weigh"}};
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(grid_sample) {
  std::vector<AttributeRule> attributes{{"align_corners", AttributeKind::integer},
                                        {"mode", AttributeKind::text},
                                        {"padding_mode", AttributeKind::text}};
  registry.add({.type = "GridSample",
                .attributes = attributes,
                .minInputs = 2,
                .maxInputs = 2,
                .infer = inferGridSample,
                .kernel = gridSampleKernel,
                .work = gridSampleWork,
                .gradient = gridSampleGradient});
  registry.add({.type = "GradGridSampleGrid",
                .attributes = attributes,
                .minInputs = 3,
                .maxInputs = 3,
                .infer = inferGridGradient,
                .kernel = gridGradientKernel,
                .work = gridGradientWork});
  attributes.push_back({"input_shape", AttributeKind::integers});
  registry.add({.type = "GradGridSampleInput",
                .attributes = attributes,
                .minInputs = 2,
                .maxInputs = 2,
                .infer = inferInputGradient,
                .kernel = inputGradientKernel,
                .work = inputGradientWork});
}

}  // namespace pipescope::ops
