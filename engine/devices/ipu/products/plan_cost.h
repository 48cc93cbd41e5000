#pragma once
// The cycles and memory of a product in one form, split over the tiles in one way. (Cost terms: PopLibs
// planner, C.)
#include <array>
#include <cstdint>

#include "engine/devices/ipu/chip.h"
#include "engine/devices/ipu/products/conv_shape.h"
#include "engine/devices/ipu/products/conv_vertices.h"
#include "engine/devices/ipu/reduce_cost.h"

namespace pipescope::devices::ipu {

/// The number of parts of each axis; their product is the number of tiles in use.
struct ConvSplit {
  std::int64_t groups = 1, batch = 1, inChannels = 1, outChannels = 1;
  std::array<std::int64_t, kMaximumDims> output{1, 1, 1}, kernel{1, 1, 1};

  std::int64_t tiles() const;
  std::int64_t positions() const;  ///< parts of batch and field
  std::int64_t depth() const;      ///< partial sums per result
  friend bool operator==(const ConvSplit&, const ConvSplit&) = default;
};

/// The costs of one tile's share: cycles of the busiest tile without launch and sync, and bytes on it.
struct ConvCosts {
  /// Bringing operands into the order that the vertex wants: an exchange to tiles that can turn whole groups
  /// over, the copies there (C: poputil's regroupTensor), and an exchange to their places (X: the other costs
  /// of operands assume that a share of them lies where it is used, which is not where groups were turned
  /// over).
  std::int64_t arrangeExchange = 0, arrange = 0;
  std::int64_t operandExchange = 0;  ///< sending operands to the tiles that use them
  std::int64_t slice = 0;  ///< slicing the weights of a serial part, and putting its results into place
  std::int64_t compute = 0;
  ReduceStages stages;
  std::array<std::int64_t, 4> stageExchange{}, stageCompute{};
  std::int64_t cast = 0;
  std::int64_t outputExchange = 0, output = 0;  ///< bringing the result into the order of the next layer
  std::int64_t inputBytes = 0, weightBytes = 0, partialBytes = 0, arrangeBytes = 0, receivedBytes = 0,
               outputBytes = 0;
  std::int64_t turnedBytes = 0;  ///< weights that the tile turns over, without an exchange
  std::int64_t movedInputBytes = 0,
               movedWeightBytes = 0;  ///< the part of the operands that comes from other tiles
  /// Operands that a tile sends to others: its part of those that several tiles use, each once.
  std::int64_t sentBytes = 0;
  std::int64_t temporaryBytes = 0;  ///< the most that is live at once
  std::int64_t total = 0;           ///< cycles of all serial parts with launches and syncs
};

/// One way to do a product before it is split: form, vertex, and what follows from them.
struct ConvForm {
  ConvShape shape;  ///< transformed, with channels padded to whole groups
  ConvShape unpadded;
  bool swapped = false;
  std::array<bool, kMaximumDims> expanded{};
  std::int64_t combined = 1;  ///< groups of the product that are one group of the form
  ConvVertex vertex;
  std::int64_t serial = 1;  ///< parts of the output channels that are done one after another
  /// True if serial parts arrange their operands anew, which is slower but keeps nothing meanwhile.
  bool arrangeEach = false;
  std::int64_t groupGrains = 1, inGrains = 1, outGrains = 1;  ///< grains of one serial part
  /// True for one of the three products of a joint plan (joint_plan.h), whose weights lie where they are
  /// used.
  bool joint = false;
  /// True if each tile turns its weights over before the product; PopLibs' planner does not charge for it.
  bool turned = false;
  /// Positions of the field that stay together, because they are a group of channels of another pass.
  std::int64_t fieldGrain = 1;
  bool arrangeInput = false, arrangeWeights = false, arrangeOutput = false, regroupOutput = false;
};

/// Makes a form: channels are padded to whole groups of the vertex, and `serial` and `combined` become
/// those of the form.
ConvForm makeForm(const ConvShape& unpadded, bool swapped, const std::array<bool, kMaximumDims>& expanded,
                  const ConvVertex& vertex, std::int64_t serial, std::int64_t combined = 1);

/// The form of a product in a joint plan. Its weights keep their layout, so only channels that do not fill
/// groups need arranging.
ConvForm makeJointForm(const ConvShape& unpadded, const ConvVertex& vertex, std::int64_t fieldGrain);

/// The cost of arranging operands and result if all tiles share in it. No split takes less.
struct ArrangementBound {
  std::int64_t cycles = 0, memory = 0;
};
ArrangementBound arrangementBound(const Chip& chip, const ConvForm& form);

/// Cycles to bring `bytes` on a tile into another order, if `neighbours` bytes stay together (regression over
/// 10,000 random transforms: PopLibs planner, C).
std::int64_t arrangeCycles(std::int64_t bytes, std::int64_t neighbours);

/// Cycles to transpose square matrices of `size` by `size` elements on a tile, one worker each (C: PopLibs,
/// popopsCycleEstimators.cpp, Transpose2d).
std::int64_t turnCycles(const Chip& chip, std::int64_t elements, std::int64_t size, bool half);

/// The largest share of a split.
ConvTile largestTile(const ConvForm& form, const ConvSplit& split);

/// The costs of a split. `cache` belongs to the form.
ConvCosts costsOf(const Chip& chip, const ConvForm& form, const ConvSplit& split, const ConvTile& tile,
                  WorkerCache& cache);

}  // namespace pipescope::devices::ipu
