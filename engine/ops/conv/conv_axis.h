#pragma once
// Describes how a convolution without unfolding walks along one spatial axis: which outputs have which taps,
// and where these taps lie in the staged copy of the source.
#include <cstdint>
#include <vector>

#include "engine/ops/core/window.h"

namespace pipescope::ops {

/// Outputs first, first + step, … of one axis, with the positions of their taps in the staged source.
struct ConvAxisPhase {
  std::int64_t first = 0, count = 0;
  std::int64_t start = 0;          ///< staged position of the first output's first tap
  std::vector<std::int64_t> taps;  ///< kernel positions in the order of the source
};
struct ConvAxis {
  std::int64_t source = 1, target = 1;  ///< extents
  std::int64_t origin = 0;              ///< the source position of staged position 0
  std::int64_t staged = 1;              ///< extent of what is staged
  std::int64_t pick = 1;                ///< source positions between two staged ones
  std::int64_t step = 1;                ///< staged positions between two outputs of a phase
  std::int64_t spread = 1;              ///< outputs of the target between two outputs of a phase
  std::int64_t tapStep = 1;             ///< staged positions between two taps of a phase
  std::vector<ConvAxisPhase> phases;
};

/// The walk of a convolution. An axis whose outputs have one tap stages only what that tap reads, unless it
/// is the last axis of the window.
ConvAxis forwardConvAxis(const Window& window, std::size_t axis);
/// The walk of the gradient with respect to the input, which has a phase for each remainder of positions by
/// the stride.
ConvAxis gradientConvAxis(const Window& window, std::size_t axis);

}  // namespace pipescope::ops
