#pragma once
#include <array>
#include <cstdint>

namespace pipescope::base {

/// Philox4x32 with ten rounds (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC
/// 2011). The generator computes each number from a counter, so any number is available without those before
/// it. The bits are the same on every machine.
std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                        std::array<std::uint32_t, 2> key);

}  // namespace pipescope::base
