#pragma once
#include <array>
#include <cstdint>

namespace pipescope::base {

/// Philox4x32 with ten rounds (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC
/// 2011): counter-based random numbers, the same bits on every machine, any of them without those before it.
std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                        std::array<std::uint32_t, 2> key);

}  // namespace pipescope::base
