// Operators And, Or, Xor and Not of bools; BitShift of unsigned numbers (a shift by the width or more gives
// 0); Mod.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "engine/ops/core/broadcast.h"
#include "engine/ops/core/dispatch.h"

namespace pipescope::ops {
namespace {

using base::badInput;

Result<std::vector<TensorType>> inferPair(const OperatorCall& call) {
  PIPESCOPE_TRY(requireSameElementTypes(call, {0, 1}));
  PIPESCOPE_ASSIGN(const Shape shape, broadcastInputs(call));
  return std::vector<TensorType>{{call.input(0).element, shape}};
}

Result<Broadcast> pairSetup(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const Shape shape, broadcastInputs(call));
  return Broadcast(shape, {call.input(0).shape, call.input(1).shape});
}

Work pairWork(const OperatorCall& call, MapFunction function) {
  const std::int64_t elements = call.outputs.empty() ? 0 : call.outputs[0].elements();
  return {Map{function, elements, 2, call.input(0).element, false}, 1, ""};
}

// --- bools -------------------------------------------------------------------------------------------

struct Both {
  static constexpr MapFunction kWork = MapFunction::logicalAnd;
  static bool apply(bool a, bool b) { return a && b; }
};
struct Either {
  static constexpr MapFunction kWork = MapFunction::logicalOr;
  static bool apply(bool a, bool b) { return a || b; }
};
struct OneOf {
  static constexpr MapFunction kWork = MapFunction::logicalXor;
  static bool apply(bool a, bool b) { return a != b; }
};

Status requireBool(const OperatorCall& call) {
  if (call.input(0).element == ElementType::boolean) return {};
  return unsupportedType(call, call.input(0).element, "bool");
}

Result<std::vector<TensorType>> inferBools(const OperatorCall& call) {
  PIPESCOPE_TRY(requireBool(call));
  return inferPair(call);
}

template <class Op>
Result<Kernel> boolKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const Broadcast setup, pairSetup(call));
  return Kernel{[setup](const KernelArguments& a) -> Status {
                  mapTwo(setup, a.input<std::uint8_t>(0), a.input<std::uint8_t>(1), a.output<bool>(0),
                         [](std::uint8_t x, std::uint8_t y) { return Op::apply(x != 0, y != 0); });
                  return {};
                },
                0};
}

template <class Op>
std::vector<Work> boolWork(const OperatorCall& call) {
  return {pairWork(call, Op::kWork)};
}

Result<std::vector<TensorType>> inferNot(const OperatorCall& call) {
  PIPESCOPE_TRY(requireBool(call));
  return std::vector<TensorType>{call.input(0)};
}

Result<Kernel> notKernel(const OperatorCall& call) {
  return Kernel{[count = call.input(0).elements()](const KernelArguments& a) -> Status {
                  mapOne(a.input<std::uint8_t>(0), a.output<std::uint8_t>(0), count,
                         [](std::uint8_t x) { return static_cast<std::uint8_t>(x == 0); });
                  return {};
                },
                0};
}

std::vector<Work> notWork(const OperatorCall& call) {
  return {{Map{MapFunction::logicalNot, call.input(0).elements(), 1, call.input(0).element, true}, 1, ""}};
}

// --- BitShift ------------------------------------------------------------------------------------------

Result<bool> shiftsLeft(const OperatorCall& call) {
  const std::string direction = graph::stringAttribute(call.node, "direction", "");
  if (direction == "LEFT" || direction == "RIGHT") return direction == "LEFT";
  return badInput(fmt::format("{}: direction is '{}'; it must be LEFT or RIGHT", call.title(), direction));
}

Result<std::vector<TensorType>> inferShift(const OperatorCall& call) {
  PIPESCOPE_TRY(shiftsLeft(call));
  const ElementType type = call.input(0).element;
  if (type != ElementType::uint8 && type != ElementType::uint16 && type != ElementType::uint32 &&
      type != ElementType::uint64)
    return unsupportedType(call, type, "unsigned whole numbers");
  return inferPair(call);
}

template <class T>
T shifted(T value, T by, bool left) {
  if (by >= sizeof(T) * 8) return T(0);
  const auto wide = static_cast<std::uint64_t>(value);
  return static_cast<T>(left ? wide << by : wide >> by);
}

Result<Kernel> shiftKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const bool left, shiftsLeft(call));
  PIPESCOPE_ASSIGN(const Broadcast setup, pairSetup(call));
  return kernelForSizes(call.input(0).element, [&]<class T>(T) {
    return Kernel{[setup, left](const KernelArguments& a) -> Status {
                    mapTwo(setup, a.input<T>(0), a.input<T>(1), a.output<T>(0),
                           [left](T x, T by) { return shifted(x, by, left); });
                    return {};
                  },
                  0};
  });
}

std::vector<Work> shiftWork(const OperatorCall& call) {
  return {pairWork(call, MapFunction::shift)};
}

// --- Mod: the sign follows the divisor, with fmod = 1 the dividend ---------------------------------------

Result<std::vector<TensorType>> inferMod(const OperatorCall& call) {
  if (isFloat(call.input(0).element) && graph::intAttribute(call.node, "fmod", 0) == 0) {
    return badInput(fmt::format("{}: its inputs are {}; floating-point numbers need fmod 1", call.title(),
                                graph::toString(call.input(0))));
  }
  return inferPair(call);
}

template <class T>
T modulo(T a, T b, bool likeDividend) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::fmod(a, b);
  } else {
    if constexpr (std::is_signed_v<T>) {
      if (b == T(-1)) return T(0);
    }
    const T rest = static_cast<T>(a % b);
    const bool differs = std::is_signed_v<T> && rest != T(0) && (rest < T(0)) != (b < T(0));
    return differs && !likeDividend ? static_cast<T>(rest + b) : rest;
  }
}

Result<Kernel> modKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const Broadcast setup, pairSetup(call));
  const bool likeDividend = graph::intAttribute(call.node, "fmod", 0) != 0;
  return kernelForNumbers(
      call, call.input(0).element,
      [&, title = call.title(), divisors = call.input(1).elements()]<class T>(T) {
        return Kernel{[setup, likeDividend, title, divisors](const KernelArguments& a) -> Status {
                        const T* b = a.input<T>(1);
                        if (std::is_integral_v<T> && std::find(b, b + divisors, T(0)) != b + divisors)
                          return badInput(fmt::format("{}: a whole number is divided by zero", title));
                        mapTwo(setup, a.input<T>(0), b, a.output<T>(0),
                               [likeDividend](T x, T y) { return modulo(x, y, likeDividend); });
                        return {};
                      },
                      0};
      });
}

std::vector<Work> modWork(const OperatorCall& call) {
  return {pairWork(call, MapFunction::remainder)};
}

template <class Op>
void addBools(OperatorRegistry& registry, const char* type) {
  registry.add({.type = type,
                .minInputs = 2,
                .maxInputs = 2,
                .infer = inferBools,
                .kernel = boolKernel<Op>,
                .work = boolWork<Op>,
                .inPlaceInput = 0});
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(logic) {
  addBools<Both>(registry, "And");
  addBools<Either>(registry, "Or");
  addBools<OneOf>(registry, "Xor");
  registry.add({.type = "Not", .infer = inferNot, .kernel = notKernel, .work = notWork, .inPlaceInput = 0});
  registry.add({.type = "BitShift",
                .attributes = {{"direction", AttributeKind::text}},
                .minInputs = 2,
                .maxInputs = 2,
                .infer = inferShift,
                .kernel = shiftKernel,
                .work = shiftWork,
                .inPlaceInput = 0});
  registry.add({.type = "Mod",
                .attributes = {{"fmod", AttributeKind::integer}},
                .minInputs = 2,
                .maxInputs = 2,
                .infer = inferMod,
                .kernel = modKernel,
                .work = modWork,
                .inPlaceInput = 0});
}

}  // namespace pipescope::ops
