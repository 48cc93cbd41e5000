// GradReduce (x, y, dy → dx; attributes `function` and `axes`) gives the gradients of the operators in
// reduce.cpp. Equal extrema share the gradient of ReduceMax and ReduceMin evenly, as in PyTorch's amax. Sums
// and means have SpreadReduced (dy → dx; attributes `function`, `axes` and `shape`), which needs no x.
#include <fmt/format.h>

#include <algorithm>

#include "engine/ops/core/dispatch.h"
#include "engine/ops/core/lane_math.h"
#include "engine/ops/reduce_norm/reduce_setup.h"

namespace pipescope::ops {
namespace {

using base::badInput;

Result<std::vector<TensorType>> inferGradReduce(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const ReduceSetup setup, reduceSetupOf(call));
  PIPESCOPE_TRY(requireSameElementTypes(call, {0, 1, 2}));
  for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
    if (call.input(i).elements() != setup.outputs) {
      return badInput(fmt::format("{}: input {} is {}; reducing {} gives {} elements", call.title(), i,
                                  graph::toString(call.input(i)), graph::toString(call.input(0)),
                                  setup.outputs));
    }
  }
  return std::vector<TensorType>{call.input(0)};
}

/// dx as a function of x, the result y and the gradient by y.
template <class T>
using Slope = T (*)(T x, T y, T dy);

template <class T>
Slope<T> slopeOf(const std::string& function) {
  if (function == "ReduceL1") return [](T x, T, T dy) { return x > T(0) ? dy : x < T(0) ? -dy : x * T(0); };
  if (function == "ReduceL2") return [](T x, T y, T dy) { return y == T(0) ? T(0) : x / y * dy; };
  if (function == "ReduceLogSum") return [](T, T y, T dy) { return dy / lanes::exp(y); };
  if (function == "ReduceLogSumExp") return [](T x, T y, T dy) { return dy * lanes::exp(x - y); };
  if (function == "ReduceSumSquare") return [](T x, T, T dy) { return T(2) * x * dy; };
  return nullptr;
}

/// Elements that equal the result share its gradient.
template <class T>
void shareAmongTies(const ReduceSetup& setup, const Broadcast& spread, const T* x, const T* y, const T* dy,
                    T* dx, T* counts) {
  std::fill_n(counts, setup.outputs, T(0));
  const auto count = [=](std::int64_t from, std::int64_t n, std::int64_t to, std::int64_t step) {
    for (std::int64_t i = 0; i < n; ++i)
      counts[to + i * step] += x[from + i] == y[to + i * step] ? T(1) : T(0);
  };
  walkReduction(
      setup.runs, [=](std::int64_t from, std::int64_t n, std::int64_t to) { count(from, n, to, 0); },
      [=](std::int64_t from, std::int64_t n, std::int64_t to) { count(from, n, to, 1); });
  for (std::int64_t i = 0; i < setup.outputs; ++i) counts[i] = dy[i] / counts[i];
  mapThree(spread, x, y, static_cast<const T*>(counts), dx,
           [](T value, T result, T share) { return value == result ? share : T(0); });
}

/// dy times the product of the other elements of the row, also if some are zero.
template <class T>
void productGradient(const ReduceSetup& setup, const Broadcast& spread, const T* x, const T* dy, T* dx,
                     T* scratch) {
  T *zeros = scratch,
    *others = scratch + setup.outputs;  // the number of zeros, and the product of the other elements
  std::fill_n(zeros, setup.outputs, T(0));
  std::fill_n(others, setup.outputs, T(1));
  const auto take = [=](std::int64_t from, std::int64_t n, std::int64_t to, std::int64_t step) {
    for (std::int64_t i = 0; i < n; ++i) {
      const T value = x[from + i];
      if (value == T(0)) {
        zeros[to + i * step] += T(1);
      } else {
        others[to + i * step] *= value;
      }
    }
  };
  walkReduction(
      setup.runs, [=](std::int64_t from, std::int64_t n, std::int64_t to) { take(from, n, to, 0); },
      [=](std::int64_t from, std::int64_t n, std::int64_t to) { take(from, n, to, 1); });
  for (std::int64_t i = 0; i < setup.outputs; ++i) others[i] *= dy[i];
  mapThree(spread, x, static_cast<const T*>(zeros), static_cast<const T*>(others), dx,
           [](T value, T none, T product) {
             if (value == T(0)) return none == T(1) ? product : T(0);
             return none == T(0) ? product / value : T(0);
           });
}

template <class T>
void gradReduce(const std::string& function, const ReduceSetup& setup, const Broadcast& spread,
                const KernelArguments& a) {
  const T *x = a.input<T>(0), *y = a.input<T>(1), *dy = a.input<T>(2);
  T* dx = a.output<T>(0);
  if (function == "ReduceMax" || function == "ReduceMin") {
    shareAmongTies(setup, spread, x, y, dy, dx, a.scratchAs<T>());
  } else if (function == "ReduceProd") {
    productGradient(setup, spread, x, dy, dx, a.scratchAs<T>());
  } else {
    const Slope<T> slope = slopeOf<T>(function);
    mapThree(spread, x, y, dy, dx, [slope](T value, T result, T up) { return slope(value, result, up); });
  }
}

Result<Kernel> gradReduceKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const ReduceSetup setup, reduceSetupOf(call));
  const Broadcast spread(call.input(0).shape, {call.input(0).shape, setup.kept, setup.kept});
  const std::string function = graph::stringAttribute(call.node, "function", "ReduceMax");
  return kernelForFloats(call, call.input(0).element, [&]<class T>(T) {
    return Kernel{[=](const KernelArguments& a) -> Status {
                    gradReduce<T>(function, setup, spread, a);
                    return {};
                  },
                  2 * setup.outputs* static_cast<std::int64_t>(sizeof(T))};
  });
}

std::vector<Work> gradReduceWork(const OperatorCall& call) {
  const std::string function = graph::stringAttribute(call.node, "function", "ReduceMax");
  const ElementType type = call.input(0).element;
  const std::int64_t all = call.input(0).elements();
  if (function == "ReduceLogSumExp") {
    return {{Map{MapFunction::subtract, all, 2, type, false}, 1, "Shift"},
            {Map{MapFunction::exp, all, 1, type, true}, 1, "Exp"},
            {Map{MapFunction::multiply, all, 2, type, true}, 1, "Scale"}};
  }
  if (function == "ReduceMax" || function == "ReduceMin")
    return {{Map{MapFunction::equal, all, 2, type, false}, 1, "Equal"},
            {Map{MapFunction::multiply, all, 2, type, true}, 1, "Scale"}};
  return {{Map{MapFunction::multiply, all, 2, type, false}, 1, "Scale"}};
}

// --- SpreadReduced -----------------------------------------------------------------------------------------

/// The shape of x, and that of the gradient with extents of 1 for reduced axes.
struct SpreadShapes {
  Shape x, kept;
  std::int64_t depth = 1;
};

Result<SpreadShapes> spreadShapes(const OperatorCall& call) {
  SpreadShapes shapes{graph::intsAttribute(call.node, "shape", {}), {}};
  shapes.kept = shapes.x;
  for (const std::int64_t axis : graph::intsAttribute(call.node, "axes", {})) {
    const auto place = static_cast<std::size_t>(axis);
    if (axis < 0 || place >= shapes.x.size())
      return badInput(fmt::format("{}: axis {} is not one of the {} axes of its shape", call.title(), axis,
                                  shapes.x.size()));
    shapes.depth *= shapes.x[place];
    shapes.kept[place] = 1;
  }
  std::int64_t elements = 1;
  for (const std::int64_t extent : shapes.kept) elements *= extent;
  if (call.input(0).elements() != elements)
    return badInput(fmt::format("{}: input 0 is {}; reducing gives {} elements", call.title(),
                                graph::toString(call.input(0)), elements));
  return shapes;
}

Result<std::vector<TensorType>> inferSpreadReduced(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const SpreadShapes shapes, spreadShapes(call));
  return std::vector<TensorType>{{call.input(0).element, shapes.x}};
}

bool isMean(const OperatorCall& call) {
  return graph::stringAttribute(call.node, "function", "ReduceSum") == "ReduceMean";
}

Result<Kernel> spreadReducedKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const SpreadShapes shapes, spreadShapes(call));
  const Broadcast spread(shapes.x, {shapes.kept, shapes.kept});
  return kernelForFloats(call, call.input(0).element, [&]<class T>(T) {
    const T factor = isMean(call) ? T(1) / static_cast<T>(shapes.depth) : T(1);
    return Kernel{[=](const KernelArguments& a) -> Status {
      const T* dy = a.input<T>(0);
      mapTwo(spread, dy, dy, a.output<T>(0), [factor](T up, T) { return up * factor; });
      return {};
    }};
  });
}

std::vector<Work> spreadReducedWork(const OperatorCall& call) {
  const auto function = isMean(call) ? MapFunction::multiply : MapFunction::copy;
  std::int64_t all = 1;
  for (const std::int64_t extent : graph::intsAttribute(call.node, "shape", {})) all *= extent;
  return {{Map{function, all, 1, call.input(0).element, false}, 1, "Spread"}};
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(grad_reduce) {
  registry.add({.type = "SpreadReduced",
                .attributes = {{"axes", AttributeKind::integers},
                               {"function", AttributeKind::text},
                               {"shape", AttributeKind::integers}},
                .infer = inferSpreadReduced,
                .kernel = spreadReducedKernel,
                .work = spreadReducedWork});
  registry.add({.type = "GradReduce",
                .attributes = {{"axes", AttributeKind::integers},
                               {"function", AttributeKind::text},
                               {"noop_with_empty_axes", AttributeKind::integer}},
                .minInputs = 3,
                .maxInputs = 3,
                .infer = inferGradReduce,
                .kernel = gradReduceKernel,
                .work = gradReduceWork});
}

}  // namespace pipescope::ops
