// Range: start, start + delta, start + 2·delta … while limit is not reached. The data decide how many there
// are, so they must be known before the run.
#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "engine/ops/core/dispatch.h"
#include "engine/ops/core/shape_tools.h"

namespace pipescope::ops {
namespace {

template <class T>
Result<std::int64_t> countOf(const OperatorCall& call) {
  T values[3];
  static constexpr const char* names[] = {"start", "limit", "delta"};
  for (std::size_t i = 0; i < 3; ++i) {
    PIPESCOPE_ASSIGN(const std::vector<std::byte>* bytes, shapingValue(call, i, names[i]));
    std::memcpy(&values[i], bytes->data(), sizeof(T));
  }
  const auto [start, limit, delta] = values;
  constexpr double kMost = 0x1p48;
  double count = 0;
  if constexpr (std::is_floating_point_v<T>) {
    count = std::ceil((static_cast<double>(limit) - static_cast<double>(start)) / static_cast<double>(delta));
  } else if (delta != 0) {
    __extension__ using Wide = __int128;
    const Wide distance = Wide{limit} - Wide{start};
    if ((distance > 0) == (delta > 0) && distance != 0)
      count = static_cast<double>((distance + delta - (delta > 0 ? 1 : -1)) / delta);
  }
  if (delta == 0 || !(count < kMost)) {
    return base::badInput(fmt::format("{}: from {} to {} by {} is no finite range; give other numbers",
                                      call.title(), start, limit, delta));
  }
  return count > 0 ? static_cast<std::int64_t>(count) : 0;
}

Result<std::int64_t> countOf(const OperatorCall& call) {
  switch (call.input(0).element) {
    case ElementType::float32:
      return countOf<float>(call);
    case ElementType::float64:
      return countOf<double>(call);
    case ElementType::int16:
      return countOf<std::int16_t>(call);
    case ElementType::int32:
      return countOf<std::int32_t>(call);
    case ElementType::int64:
      return countOf<std::int64_t>(call);
    default:
      return unsupportedType(call, call.input(0).element, "float32, float64, int16, int32 and int64");
  }
}

Result<std::vector<TensorType>> inferRange(const OperatorCall& call) {
  PIPESCOPE_TRY(requireSameElementTypes(call, {0, 1, 2}));
  for (std::size_t i = 0; i < 3; ++i) {
    if (call.input(i).elements() == 1) continue;
    return base::badInput(fmt::format("{}: input {} is {}; it must be one number", call.title(), i,
                                      graph::toString(call.input(i))));
  }
  PIPESCOPE_ASSIGN(const std::int64_t count, countOf(call));
  return std::vector<TensorType>{{call.input(0).element, {count}}};
}

Result<Kernel> rangeKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const std::int64_t count, countOf(call));
  return kernelForNumbers(call, call.input(0).element, [count]<class T>(T) {
    return Kernel{[count](const KernelArguments& a) -> Status {
                    const T start = *a.input<T>(0), delta = *a.input<T>(2);
                    T* to = a.output<T>(0);
                    for (std::int64_t i = 0; i < count; ++i)
                      to[i] = static_cast<T>(start + static_cast<T>(static_cast<T>(i) * delta));
                    return {};
                  },
                  0};
  });
}

std::vector<Work> rangeWork(const OperatorCall& call) {
  const TensorType& y = call.outputs[0];
  return {{Map{MapFunction::scaledAdd, y.elements(), 1, y.element, false}, 1, ""}};
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(range) {
  registry.add({.type = "Range",
                .minInputs = 3,
                .maxInputs = 3,
                .infer = inferRange,
                .kernel = rangeKernel,
                .work = rangeWork});
}

}  // namespace pipescope::ops
