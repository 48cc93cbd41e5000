#include "engine/ops/core/cast_elements.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "engine/ops/core/float8.h"
#include "engine/ops/core/half.h"
#include "profiler/base/check.h"

namespace pipescope::ops {
namespace {

using graph::ElementType;

template <class T>
constexpr bool kIsHalf = std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;

/// The nearest float, with an odd last bit if `value` is not exact. Rounding it to a shorter format then
/// gives the same as rounding `value` itself.
float oddFloat(double value) {
  const float near = static_cast<float>(value);
  if (static_cast<double>(near) == value || !std::isfinite(near)) {
    // A finite value beyond the largest float becomes infinite in every shorter format too.
    return near;
  }
  std::uint32_t bits = std::bit_cast<std::uint32_t>(near);
  if (std::fabs(static_cast<double>(near)) > std::fabs(value)) --bits;
  return std::bit_cast<float>(bits | 1U);
}

/// The same for whole numbers of more than 53 bits.
template <class T>
double oddDouble(T x) {
  if constexpr (sizeof(T) < 8) {
    return static_cast<double>(x);
  } else {
    const bool negative = std::is_signed_v<T> && x < T(0);
    const std::uint64_t size = negative ? -static_cast<std::uint64_t>(x) : static_cast<std::uint64_t>(x);
    const double magnitude =
        size < (std::uint64_t{1} << 53)
            ? static_cast<double>(size)
            : static_cast<double>(size >> 11 | static_cast<std::uint64_t>(size % 2048 != 0)) * 2048;
    return negative ? -magnitude : magnitude;
  }
}

template <class To, class From>
To fromReal(From x) {
  if constexpr (std::is_same_v<To, bool>) {
    return x != From(0);
  } else if constexpr (std::is_floating_point_v<To>) {
    return static_cast<To>(x);
  } else {
    // 2ⁿ for the n bits of the target, which floating point holds exactly.
    constexpr From kAbove = static_cast<From>(std::numeric_limits<To>::max() / 2 + 1) * From(2);
    constexpr From kLeast = static_cast<From>(std::numeric_limits<To>::lowest());
    if (!(x > kLeast)) return x != x ? To(0) : std::numeric_limits<To>::lowest();
    return x >= kAbove ? std::numeric_limits<To>::max() : static_cast<To>(x);
  }
}

template <class To, class From>
To converted(From x) {
  if constexpr (kIsHalf<To>) {
    To half;
    if constexpr (kIsHalf<From>) {
      narrow(widened(x), half);
    } else if constexpr (std::is_same_v<From, float>) {
      narrow(x, half);
    } else if constexpr (std::is_same_v<From, double>) {
      narrow(oddFloat(x), half);
    } else {
      narrow(oddFloat(oddDouble(x)), half);
    }
    return half;
  } else if constexpr (kIsHalf<From>) {
    return fromReal<To>(widened(x));
  } else if constexpr (std::is_floating_point_v<From>) {
    return fromReal<To>(x);
  } else if constexpr (std::is_same_v<To, bool>) {
    return x != From(0);
  } else {
    return static_cast<To>(x);
  }
}

template <class From, class To>
void castAll(const std::byte* from, std::byte* to, std::int64_t count) {
  const auto* source = reinterpret_cast<const From*>(from);
  auto* target = reinterpret_cast<To*>(to);
  for (std::int64_t i = 0; i < count; ++i) target[i] = converted<To>(source[i]);
}

/// Calls visit(T{}) with the storage type of an element type.
template <class Visit>
void withType(ElementType type, Visit visit) {
  switch (type) {
    case ElementType::float32:
      return visit(float{});
    case ElementType::float64:
      return visit(double{});
    case ElementType::float16:
      return visit(Float16{});
    case ElementType::bfloat16:
      return visit(BFloat16{});
    case ElementType::int8:
      return visit(std::int8_t{});
    case ElementType::int16:
      return visit(std::int16_t{});
    case ElementType::int32:
      return visit(std::int32_t{});
    case ElementType::int64:
      return visit(std::int64_t{});
    case ElementType::uint8:
      return visit(std::uint8_t{});
    case ElementType::uint16:
      return visit(std::uint16_t{});
    case ElementType::uint32:
      return visit(std::uint32_t{});
    case ElementType::uint64:
      return visit(std::uint64_t{});
    case ElementType::boolean:
      return visit(bool{});
    case ElementType::float8_143:
    case ElementType::float8_143fn:
    case ElementType::float8_143fnuz:
    case ElementType::float8_152:
    case ElementType::float8_152fnuz:
    case ElementType::float4_121:
      break;
  }
  PIPESCOPE_CHECK(false, graph::toString(type) + " is converted through float32");
}

/// A float that rounds to the same float8 as `x` itself.
template <class From>
float nearFloat8(From x) {
  if constexpr (kIsHalf<From>) {
    return widened(x);
  } else if constexpr (std::is_same_v<From, float>) {
    return x;
  } else if constexpr (std::is_same_v<From, double>) {
    return oddFloat(x);
  } else {
    return oddFloat(oddDouble(x));
  }
}

void castToFloat8(ElementType fromType, const std::byte* from, ElementType toType, std::byte* to,
                  std::int64_t count, bool saturate) {
  withType(fromType, [=]<class From>(From) {
    const auto* source = reinterpret_cast<const From*>(from);
    for (std::int64_t i = 0; i < count; ++i)
      to[i] = static_cast<std::byte>(narrowedToFloat8(toType, nearFloat8(source[i]), saturate));
  });
}

/// Goes through float32 in pieces, which is exact.
void castFromFloat8(ElementType fromType, const std::byte* from, ElementType toType, std::byte* to,
                    std::int64_t count, bool saturate) {
  std::array<float, 256> piece;
  for (std::int64_t at = 0; at < count; at += static_cast<std::int64_t>(piece.size())) {
    const std::int64_t some = std::min<std::int64_t>(count - at, piece.size());
    widenFloat8(fromType, reinterpret_cast<const std::uint8_t*>(from) + at, piece.data(), some);
    castElements(ElementType::float32, reinterpret_cast<const std::byte*>(piece.data()), toType,
                 to + at * graph::sizeOf(toType), some, saturate);
  }
}

}  // namespace

void castElements(ElementType fromType, const std::byte* from, ElementType toType, std::byte* to,
                  std::int64_t count, bool saturate) {
  if (graph::isFloat8(fromType)) return castFromFloat8(fromType, from, toType, to, count, saturate);
  if (graph::isFloat8(toType)) return castToFloat8(fromType, from, toType, to, count, saturate);
  withType(fromType, [=]<class From>(From) {
    withType(toType, [=]<class To>(To) { castAll<From, To>(from, to, count); });
  });
}

}  // namespace pipescope::ops
