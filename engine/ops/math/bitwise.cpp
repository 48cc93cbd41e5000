// BitwiseAnd, BitwiseOr, BitwiseXor and BitwiseNot of whole numbers, as in opset 18. Bits do not know signs,
// so each kernel works on unsigned numbers of the same width.
#include "engine/ops/core/broadcast.h"
#include "engine/ops/core/dispatch.h"

namespace pipescope::ops {
namespace {

struct BitsOfBoth {
  static constexpr MapFunction kWork = MapFunction::logicalAnd;
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(a & b);
  }
};
struct BitsOfEither {
  static constexpr MapFunction kWork = MapFunction::logicalOr;
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(a | b);
  }
};
struct BitsOfOne {
  static constexpr MapFunction kWork = MapFunction::logicalXor;
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(a ^ b);
  }
};

Status requireWholeNumbers(const OperatorCall& call) {
  const ElementType type = call.input(0).element;
  const bool isWhole = !isFloat(type) && type != ElementType::float16 && type != ElementType::bfloat16 &&
                       type != ElementType::boolean;
  return isWhole ? Status() : Status(unsupportedType(call, type, "whole numbers"));
}

Result<std::vector<TensorType>> inferBitwise(const OperatorCall& call) {
  PIPESCOPE_TRY(requireWholeNumbers(call));
  PIPESCOPE_TRY(requireSameElementTypes(call, {0, 1}));
  PIPESCOPE_ASSIGN(const Shape shape, broadcastInputs(call));
  return std::vector<TensorType>{{call.input(0).element, shape}};
}

template <class Op>
Result<Kernel> bitwiseKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const Shape shape, broadcastInputs(call));
  const Broadcast setup(shape, {call.input(0).shape, call.input(1).shape});
  return kernelForSizes(call.input(0).element, [&]<class T>(T) {
    return Kernel{[setup](const KernelArguments& a) -> Status {
                    mapTwo(setup, a.input<T>(0), a.input<T>(1), a.output<T>(0),
                           [](T x, T y) { return Op::template apply<T>(x, y); });
                    return {};
                  },
                  0};
  });
}

template <class Op>
std::vector<Work> bitwiseWork(const OperatorCall& call) {
  const std::int64_t elements = call.outputs.empty() ? 0 : call.outputs[0].elements();
  return {{Map{Op::kWork, elements, 2, call.input(0).element, false}, 1, ""}};
}

Result<std::vector<TensorType>> inferBitwiseNot(const OperatorCall& call) {
  PIPESCOPE_TRY(requireWholeNumbers(call));
  return std::vector<TensorType>{call.input(0)};
}

Result<Kernel> bitwiseNotKernel(const OperatorCall& call) {
  return kernelForSizes(call.input(0).element, [count = call.input(0).elements()]<class T>(T) {
    return Kernel{[count](const KernelArguments& a) -> Status {
                    mapOne(a.input<T>(0), a.output<T>(0), count, [](T x) { return static_cast<T>(~x); });
                    return {};
                  },
                  0};
  });
}

std::vector<Work> bitwiseNotWork(const OperatorCall& call) {
  return {{Map{MapFunction::logicalNot, call.input(0).elements(), 1, call.input(0).element, true}, 1, ""}};
}

template <class Op>
void addBitwise(OperatorRegistry& registry, const char* type) {
  registry.add({.type = type,
                .minInputs = 2,
                .maxInputs = 2,
                .infer = inferBitwise,
                .kernel = bitwiseKernel<Op>,
                .work = bitwiseWork<Op>,
                .inPlaceInput = 0});
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(bitwise) {
  addBitwise<BitsOfBoth>(registry, "BitwiseAnd");
  addBitwise<BitsOfEither>(registry, "BitwiseOr");
  addBitwise<BitsOfOne>(registry, "BitwiseXor");
  registry.add({.type = "BitwiseNot",
                .infer = inferBitwiseNot,
                .kernel = bitwiseNotKernel,
                .work = bitwiseNotWork,
                .inPlaceInput = 0});
}

}  // namespace pipescope::ops
