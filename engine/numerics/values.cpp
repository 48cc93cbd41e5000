#include "engine/numerics/values.h"

#include <algorithm>
#include <array>

#include "engine/ops/core/half.h"
#include "engine/ops/core/random.h"
#include "profiler/base/check.h"

namespace pipescope::numerics {
namespace {

using graph::ElementType;

template <class Half>
void narrowed(std::span<const float> from, Half* to, const ops::RandomSequence* random) {
  const auto count = static_cast<std::int64_t>(from.size());
  if (random) {
    ops::narrowStochastically(from.data(), to, count, *random);
  } else {
    ops::narrow(from.data(), to, count);
  }
}

/// Works in pieces, so that nothing is allocated. Random words are counted from the first value, so with them
/// there is one piece, as long as the ranges into which updates are cut.
template <class Half>
void roundThrough(std::span<float> values, const ops::RandomSequence* random) {
  std::array<Half, 8192> half;
  PIPESCOPE_CHECK(!random || values.size() <= half.size(), "a piece too long to round");
  for (std::size_t at = 0; at < values.size(); at += half.size()) {
    const std::span<float> piece = values.subspan(at, std::min(half.size(), values.size() - at));
    narrowed(std::span<const float>(piece), half.data(), random);
    ops::widen(half.data(), piece.data(), static_cast<std::int64_t>(piece.size()));
  }
}

}  // namespace

bool isTrainable(ElementType type) {
  return type == ElementType::float32 || type == ElementType::float16 || type == ElementType::bfloat16;
}

void readFloats(ElementType type, std::span<const std::byte> tensor, std::size_t first, std::span<float> to) {
  const auto count = static_cast<std::int64_t>(to.size());
  switch (type) {
    case ElementType::float32:
      std::copy_n(reinterpret_cast<const float*>(tensor.data()) + first, count, to.data());
      return;
    case ElementType::float16:
      return ops::widen(reinterpret_cast<const ops::Float16*>(tensor.data()) + first, to.data(), count);
    case ElementType::bfloat16:
      return ops::widen(reinterpret_cast<const ops::BFloat16*>(tensor.data()) + first, to.data(), count);
    default:
      PIPESCOPE_CHECK(false, "no trainable type: " + graph::toString(type));
  }
}

void writeFloats(ElementType type, std::span<const float> from, std::size_t first,
                 std::span<std::byte> tensor, const ops::RandomSequence* random) {
  switch (type) {
    case ElementType::float32:
      std::copy(from.begin(), from.end(), reinterpret_cast<float*>(tensor.data()) + first);
      return;
    case ElementType::float16:
      return narrowed(from, reinterpret_cast<ops::Float16*>(tensor.data()) + first, random);
    case ElementType::bfloat16:
      return narrowed(from, reinterpret_cast<ops::BFloat16*>(tensor.data()) + first, random);
    default:
      PIPESCOPE_CHECK(false, "no trainable type: " + graph::toString(type));
  }
}

void roundTo(ElementType type, std::span<float> values, const ops::RandomSequence* random) {
  if (type == ElementType::float16) roundThrough<ops::Float16>(values, random);
  if (type == ElementType::bfloat16) roundThrough<ops::BFloat16>(values, random);
}

}  // namespace pipescope::numerics
