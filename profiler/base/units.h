#pragma once
// Quantities whose type is their unit, and the clocks that give ticks a length.
#include <compare>
#include <cstdint>

namespace pipescope::base {

/// An amount of one unit. Files may hold any number, so sums and multiples wrap. Overflow of plain signed
/// integers would be undefined behaviour.
template <class Tag>
struct Quantity {
  std::int64_t count = 0;

  constexpr Quantity() = default;
  constexpr explicit Quantity(std::int64_t n) : count(n) {}

  friend constexpr auto operator<=>(Quantity, Quantity) = default;
  friend constexpr Quantity operator+(Quantity a, Quantity b) {
    return wrapped(bits(a.count) + bits(b.count));
  }
  friend constexpr Quantity operator-(Quantity a, Quantity b) {
    return wrapped(bits(a.count) - bits(b.count));
  }
  friend constexpr Quantity operator*(Quantity a, std::int64_t n) { return wrapped(bits(a.count) * bits(n)); }
  friend constexpr Quantity operator*(std::int64_t n, Quantity a) { return a * n; }
  constexpr Quantity& operator+=(Quantity other) { return *this = *this + other; }
  constexpr Quantity& operator-=(Quantity other) { return *this = *this - other; }

 private:
  static constexpr std::uint64_t bits(std::int64_t n) { return static_cast<std::uint64_t>(n); }
  static constexpr Quantity wrapped(std::uint64_t n) { return Quantity(static_cast<std::int64_t>(n)); }
};

/// Ticks of a device's own timebase: tile cycles on an IPU, picoseconds on a Gaudi, 10⁻⁶ cost units on
/// `fixed`.
using Ticks = Quantity<struct TicksTag>;
/// Clock cycles of an engine whose clock is not the device's timebase.
using Cycles = Quantity<struct CyclesTag>;
using Bytes = Quantity<struct BytesTag>;

/// A device's clock. Times are computed from absolute ticks in 128 bits. Sums of rounded parts would drift.
struct Timebase {
  std::int64_t ticksPerSecond = 1'000'000;
  friend constexpr bool operator==(Timebase, Timebase) = default;
};

/// Converts ticks to seconds, with the precision of a double.
constexpr double toSeconds(Ticks ticks, Timebase base) {
  return static_cast<double>(ticks.count) / static_cast<double>(base.ticksPerSecond);
}

/// Converts `ticks` of `from` into ticks of `to`. It rounds up, so that nothing reaches another device too
/// early.
Ticks convertRoundUp(Ticks ticks, Timebase from, Timebase to);
/// Converts `seconds` into ticks and rounds up.
Ticks ticksFromSeconds(double seconds, Timebase base);

}  // namespace pipescope::base
