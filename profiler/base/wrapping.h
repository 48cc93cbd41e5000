#pragma once
// Sums and products of plain numbers from files. The numbers may be anything, so results wrap, as those of a
// Quantity do. Overflow of plain signed integers would be undefined behaviour.
#include <cstdint>

namespace pipescope::base {

constexpr std::int64_t wrappedSum(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
constexpr std::int64_t wrappedDifference(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}
constexpr std::int64_t wrappedProduct(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}
constexpr void addWrapped(std::int64_t& sum, std::int64_t number) {
  sum = wrappedSum(sum, number);
}

}  // namespace pipescope::base
