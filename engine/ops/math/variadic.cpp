// Sum, Mean, Max and Min of one or more broadcast tensors, in the order of the inputs. NaN wins in Max and
// Min. Their gradient goes in equal shares to the inputs that equal the result. Two operators serve the
// gradients: GradScale (dy·factor) and GradExtremum (y, dy, inputs … → the gradient by input `index`, before
// its broadcast is undone).
#include <fmt/format.h>

#include <algorithm>
#include <type_traits>

#include "engine/ops/core/broadcast.h"
#include "engine/ops/core/dispatch.h"

namespace pipescope::ops {
namespace {

constexpr std::size_t kMostVariadicInputs = 1 << 20;

struct Sum {
  static constexpr const char* kType = "Sum";
  static constexpr MapFunction kWork = MapFunction::add;
  template <class T>
  static T apply(T a, T b) {
    return a + b;
  }
};
struct Mean : Sum {
  static constexpr const char* kType = "Mean";
};
struct Max {
  static constexpr const char* kType = "Max";
  static constexpr MapFunction kWork = MapFunction::maximum;
  template <class T>
  static T apply(T a, T b) {
    return a > b || a != a ? a : b;
  }
};
struct Min {
  static constexpr const char* kType = "Min";
  static constexpr MapFunction kWork = MapFunction::minimum;
  template <class T>
  static T apply(T a, T b) {
    return a < b || a != a ? a : b;
  }
};
template <class Op>
constexpr bool kExtremum = std::is_same_v<Op, Max> || std::is_same_v<Op, Min>;

Result<std::vector<TensorType>> inferVariadic(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const Shape shape, broadcastInputs(call));
  for (std::size_t i = 1; i < call.inputs.size(); ++i) PIPESCOPE_TRY(requireSameElementTypes(call, {0, i}));
  return std::vector<TensorType>{{call.input(0).element, shape}};
}

/// The first step takes inputs 0 and 1; each further step takes the result so far and one input.
struct VariadicSetup {
  std::int64_t count = 0;
  std::vector<Broadcast> steps;
};

Result<VariadicSetup> variadicSetupOf(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const Shape shape, broadcastInputs(call));
  VariadicSetup setup;
  setup.count = graph::elementCount(shape);
  for (std::size_t i = 1; i < call.inputs.size(); ++i)
    setup.steps.emplace_back(shape,
                             std::vector<Shape>{i == 1 ? call.input(0).shape : shape, call.input(i).shape});
  return setup;
}

template <class Op, class T>
Status runVariadic(const KernelArguments& a, const VariadicSetup& setup) {
  const T* x = a.input<T>(0);
  T* y = a.output<T>(0);
  if (setup.steps.empty() && y != x) std::copy_n(x, setup.count, y);
  for (std::size_t i = 0; i < setup.steps.size(); ++i) {
    mapTwo(setup.steps[i], i == 0 ? x : y, a.input<T>(i + 1), y,
           [](T p, T q) { return Op::template apply<T>(p, q); });
  }
  if constexpr (std::is_same_v<Op, Mean>) {
    const T inputs = static_cast<T>(setup.steps.size() + 1);
    if (!setup.steps.empty()) mapOne(y, y, setup.count, [inputs](T value) { return value / inputs; });
  }
  return {};
}

template <class Op>
Result<Kernel> variadicKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const VariadicSetup setup, variadicSetupOf(call));
  const auto make = [&]<class T>(T) { return kernelOf(setup, runVariadic<Op, T>); };
  if constexpr (kExtremum<Op>) {
    return kernelForNumbers(call, call.input(0).element, make);
  } else {
    return kernelForFloats(call, call.input(0).element, make);
  }
}

template <class Op>
std::vector<Work> variadicWork(const OperatorCall& call) {
  const auto steps = static_cast<std::int64_t>(call.inputs.size()) - 1;
  if (steps == 0) return {};
  const std::int64_t elements = call.outputs.empty() ? call.input(0).elements() : call.outputs[0].elements();
  const ElementType type = call.input(0).element;
  std::vector<Work> work{{Map{Op::kWork, elements, 2, type, true}, steps, ""}};
  if (std::is_same_v<Op, Mean>)
    work.push_back({Map{MapFunction::multiply, elements, 1, type, true}, 1, "Scale"});
  return work;
}

template <class Op>
Status variadicGradient(GradientBuilder& builder) {
  const OperatorCall& call = builder.call();
  PIPESCOPE_ASSIGN(const Shape shape, broadcastInputs(call));
  graph::TensorId dy = builder.outputGradient(0);
  const std::size_t inputs = call.inputs.size();
  if (std::is_same_v<Op, Mean> && inputs > 1) {
    PIPESCOPE_ASSIGN(
        dy, builder.add("GradScale", "grad_scaled", {dy}, {{"factor", 1 / static_cast<double>(inputs)}}));
  }
  for (std::size_t i = 0; i < inputs; ++i) {
    if (!builder.wants(i)) continue;
    graph::TensorId own = dy;
    if (kExtremum<Op> && inputs > 1) {
      std::vector<graph::TensorId> operands{builder.node().outputs[0], dy};
      operands.insert(operands.end(), builder.node().inputs.begin(), builder.node().inputs.end());
      PIPESCOPE_ASSIGN(own, builder.add("GradExtremum", fmt::format("grad_{}", i), operands,
                                        {{"index", static_cast<std::int64_t>(i)}}));
    }
    PIPESCOPE_TRY(addBroadcastGradient(builder, i, own, shape));
  }
  return {};
}

// --- GradScale -------------------------------------------------------------------------------------

Result<std::vector<TensorType>> inferScale(const OperatorCall& call) {
  return std::vector<TensorType>{call.input(0)};
}

Result<Kernel> scaleKernel(const OperatorCall& call) {
  const double factor = graph::floatAttribute(call.node, "factor", 1);
  return kernelForFloats(call, call.input(0).element, [=, count = call.input(0).elements()]<class T>(T) {
    return Kernel{[=](const KernelArguments& a) -> Status {
                    mapOne(a.input<T>(0), a.output<T>(0), count,
                           [by = static_cast<T>(factor)](T x) { return x * by; });
                    return {};
                  },
                  0};
  });
}

std::vector<Work> scaleWork(const OperatorCall& call) {
  return {{Map{MapFunction::multiply, call.input(0).elements(), 1, call.input(0).element, true}, 1, ""}};
}

// --- GradExtremum ------------------------------------------------------------------------------------

Result<std::vector<TensorType>> inferExtremum(const OperatorCall& call) {
  PIPESCOPE_TRY(requireSameTypes(call, 0, 1));
  PIPESCOPE_ASSIGN(const Shape shape, broadcastInputs(call));
  if (shape == call.input(0).shape) return std::vector<TensorType>{call.input(1)};
  return base::badInput(
      fmt::format("{}: its inputs do not spread over {}", call.title(), graph::toString(call.input(0))));
}

Result<Kernel> extremumKernel(const OperatorCall& call) {
  const Shape& shape = call.input(0).shape;
  std::vector<Broadcast> setups;
  for (std::size_t i = 2; i < call.inputs.size(); ++i)
    setups.emplace_back(shape, std::vector<Shape>{shape, call.input(i).shape, shape});
  const std::int64_t count = call.input(0).elements();
  const auto index = static_cast<std::size_t>(graph::intAttribute(call.node, "index", 0));
  if (index >= setups.size())
    return base::badInput(
        fmt::format("{}: index {} is not one of its {} inputs", call.title(), index, setups.size()));
  return kernelForFloats(call, call.input(0).element, [&]<class T>(T) {
    return Kernel{[setups, count, index](const KernelArguments& a) -> Status {
                    const T* y = a.input<T>(0);
                    const T* dy = a.input<T>(1);
                    T *dx = a.output<T>(0), *ties = a.scratchAs<T>();
                    std::fill_n(ties, count, T(0));
                    for (std::size_t i = 0; i < setups.size(); ++i) {
                      mapThree(setups[i], y, a.input<T>(i + 2), static_cast<const T*>(ties), ties,
                               [](T result, T x, T before) { return before + (x == result ? T(1) : T(0)); });
                    }
                    mapThree(setups[index], y, a.input<T>(index + 2), static_cast<const T*>(ties), dx,
                             [](T result, T x, T all) { return x == result ? T(1) / all : T(0); });
                    for (std::int64_t i = 0; i < count; ++i) dx[i] *= dy[i];
                    return {};
                  },
                  count* static_cast<std::int64_t>(sizeof(T))};
  });
}

std::vector<Work> extremumWork(const OperatorCall& call) {
  const ElementType type = call.input(0).element;
  const std::int64_t all = call.input(0).elements();
  return {{Map{MapFunction::equal, all, 2, type, false}, static_cast<std::int64_t>(call.inputs.size()) - 2,
           "Equal"},
          {Map{MapFunction::divide, all, 2, type, true}, 1, "Share"},
          {Map{MapFunction::multiply, all, 2, type, true}, 1, "Scale"}};
}

template <class Op>
void addVariadic(OperatorRegistry& registry) {
  registry.add({.type = Op::kType,
                .maxInputs = kMostVariadicInputs,
                .infer = inferVariadic,
                .kernel = variadicKernel<Op>,
                .work = variadicWork<Op>,
                .gradient = variadicGradient<Op>,
                .inPlaceInput = 0});
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(variadic) {
  addVariadic<Sum>(registry);
  addVariadic<Mean>(registry);
  addVariadic<Max>(registry);
  addVariadic<Min>(registry);
  registry.add({.type = "GradScale",
                .attributes = {{"factor", AttributeKind::real}},
                .infer = inferScale,
                .kernel = scaleKernel,
                .work = scaleWork,
                .inPlaceInput = 0});
  registry.add({.type = "GradExtremum",
                .attributes = {{"index", AttributeKind::integer}},
                .minInputs = 3,
                .maxInputs = kMostVariadicInputs,
                .infer = inferExtremum,
                .kernel = extremumKernel,
                .work = extremumWork});
}

}  // namespace pipescope::ops
