// Equal, Less, LessOrEqual, Greater, GreaterOrEqual → bool, broadcast; IsNaN, IsInf. A comparison with NaN is
// false.
#include <cmath>
#include <utility>

#include "engine/ops/core/broadcast.h"
#include "engine/ops/core/dispatch.h"

namespace pipescope::ops {
namespace {

struct IsEqual {
  using Test = IsEqual;
  static constexpr MapFunction kWork = MapFunction::equal;
  static constexpr bool kSwapped = false;
  template <class T>
  static bool apply(T a, T b) {
    return a == b;
  }
};
struct IsLess {
  using Test = IsLess;
  static constexpr MapFunction kWork = MapFunction::less;
  static constexpr bool kSwapped = false;
  template <class T>
  static bool apply(T a, T b) {
    return a < b;
  }
};
struct IsLessOrEqual : IsLess {
  using Test = IsLessOrEqual;
  template <class T>
  static bool apply(T a, T b) {
    return a <= b;
  }
};
/// a > b is b < a.
struct IsGreater : IsLess {
  static constexpr MapFunction kWork = MapFunction::greater;
  static constexpr bool kSwapped = true;
};
struct IsGreaterOrEqual : IsLessOrEqual {
  static constexpr MapFunction kWork = MapFunction::greater;
  static constexpr bool kSwapped = true;
};

Result<std::vector<TensorType>> inferComparison(const OperatorCall& call) {
  PIPESCOPE_TRY(requireSameElementTypes(call, {0, 1}));
  PIPESCOPE_ASSIGN(const Shape shape, broadcastInputs(call));
  return std::vector<TensorType>{{ElementType::boolean, shape}};
}

struct ComparisonSetup {
  Broadcast spread;
  std::size_t left, right;
};

template <class Test, class T>
Status runComparison(const KernelArguments& a, const ComparisonSetup& setup) {
  mapTwo(setup.spread, a.input<T>(setup.left), a.input<T>(setup.right), a.output<bool>(0),
         [](T x, T y) { return Test::template apply<T>(x, y); });
  return {};
}

template <class Op>
Result<Kernel> comparisonKernel(const OperatorCall& call) {
  const std::size_t left = Op::kSwapped ? 1 : 0, right = 1 - left;
  PIPESCOPE_ASSIGN(const Shape shape, broadcastInputs(call));
  const ComparisonSetup setup{Broadcast(shape, {call.input(left).shape, call.input(right).shape}), left,
                              right};
  const auto make = [&]<class T>(T) { return kernelOf(setup, runComparison<typename Op::Test, T>); };
  if constexpr (std::is_same_v<Op, IsEqual>) {
    if (isFloat(call.input(0).element)) return kernelForFloats(call, call.input(0).element, make);
    return kernelForSizes(call.input(0).element, make);
  } else {
    return kernelForNumbers(call, call.input(0).element, make);
  }
}

template <class Op>
std::vector<Work> comparisonWork(const OperatorCall& call) {
  const std::int64_t elements = call.outputs.empty() ? 0 : call.outputs[0].elements();
  return {{Map{Op::kWork, elements, 2, call.input(0).element, false}, 1, ""}};
}

template <class Op>
void addComparison(OperatorRegistry& registry, const char* type) {
  registry.add({.type = type,
                .minInputs = 2,
                .maxInputs = 2,
                .infer = inferComparison,
                .kernel = comparisonKernel<Op>,
                .work = comparisonWork<Op>});
}

// --- IsNaN, IsInf -----------------------------------------------------------------------------------

Result<std::vector<TensorType>> inferTest(const OperatorCall& call) {
  if (!isFloat(call.input(0).element))
    return unsupportedType(call, call.input(0).element, "floating-point types");
  return std::vector<TensorType>{{ElementType::boolean, call.input(0).shape}};
}

template <class Test>
Result<Kernel> testKernel(const OperatorCall& call, Test test) {
  return kernelForFloats(call, call.input(0).element, [count = call.input(0).elements(), test]<class T>(T) {
    return Kernel{[=](const KernelArguments& a) -> Status {
                    mapOne(a.input<T>(0), a.output<bool>(0), count, test);
                    return {};
                  },
                  0};
  });
}

Result<Kernel> isNanKernel(const OperatorCall& call) {
  return testKernel(call, [](auto x) { return x != x; });
}

Result<Kernel> isInfKernel(const OperatorCall& call) {
  const bool positive = graph::intAttribute(call.node, "detect_positive", 1) != 0;
  const bool negative = graph::intAttribute(call.node, "detect_negative", 1) != 0;
  return testKernel(call, [=](auto x) {
    constexpr auto kInfinity = std::numeric_limits<decltype(x)>::infinity();
    return (positive && x == kInfinity) || (negative && x == -kInfinity);
  });
}

std::vector<Work> testWork(const OperatorCall& call) {
  return {{Map{MapFunction::equal, call.input(0).elements(), 1, call.input(0).element, false}, 1, ""}};
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(comparison) {
  addComparison<IsEqual>(registry, "Equal");
  addComparison<IsLess>(registry, "Less");
  addComparison<IsLessOrEqual>(registry, "LessOrEqual");
  addComparison<IsGreater>(registry, "Greater");
  addComparison<IsGreaterOrEqual>(registry, "GreaterOrEqual");
  registry.add({.type = "IsNaN", .infer = inferTest, .kernel = isNanKernel, .work = testWork});
  registry.add({.type = "IsInf",
                .attributes = {{"detect_negative", AttributeKind::integer},
                               {"detect_positive", AttributeKind::integer}},
                .infer = inferTest,
                .kernel = isInfKernel,
                .work = testWork});
}

}  // namespace pipescope::ops
