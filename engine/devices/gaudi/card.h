#pragma once
// The figures of one Gaudi card as plain numbers, read from its TOML.
#include <algorithm>
#include <cstdint>

#include "engine/devices/core/figures.h"
#include "engine/devices/hbm_card/card_model.h"
#include "engine/graph/tensor_type.h"
#include "profiler/base/result.h"

namespace pipescope::devices::gaudi {

using graph::ElementType;
using hbm_card::kTicksPerSecond;

struct Card : hbm_card::CardFigures {
  // All matrix engines (MME) of a card together.
  std::int64_t macsBf16 = 1, macsFp32 = 1, macsFp16 = 0,
               macsFp8 = 0;  ///< per cycle; 0: the card does not compute in this type
  std::int64_t engines = 1;  ///< engines that may work on products of their own
  /// Small products that an engine may work on at a time, and the least side of the part of the engine that
  /// each of them has.
  std::int64_t productsPerEngine = 1, leastPackedSide = 1;
  /// Sides of the possible geometries in multiply-adds; rows × columns = macsBf16.
  std::int64_t leastSide = 1, mostRows = 1;
  std::int64_t rollUp = 0;    ///< cycles to read out the sums of a block
  double mmeHz = 1;           ///< the clock that the peak is stated for
  double mmeSustainedHz = 1;  ///< clock to which the card lowers it while products run
  // Tensor processor cores (TPC).
  std::int64_t tpcs = 1, vectorBytes = 256, localBytes = 0;
  double tpcHz = 1, accessInterval = 1, tpcLatency = 1;
  double tpcSustainedHz = 1;  ///< the clock of the TPCs while products run
  // Memory rates. "Effective" is what kernels reach: the share hbm_efficiency of the peak.
  double hbmBytesPerSecond = 1, hbmEffective = 1;
  /// SRAM may lie in equal parts beside groups of engines. The first rates are those of all engines with
  /// their own part, the others those of engines with all parts.
  std::int64_t sramGroups = 1;  ///< 1: all of SRAM is equally far
  double sramBytesPerSecond = 1, sramWriteBytesPerSecond = 1;
  double sharedSramBytesPerSecond = 1, sharedSramWriteBytesPerSecond = 1;
  double dmaBytesPerSecond = 1, dmaLatency = 0, dmaSliceFactor = 1;
  bool layeredBundles = false;    ///< bundles of kernels may hold two products that follow each other
  bool pipelinedBundles = false;  ///< bundles with one kernel that uses results, or with several products
  double sliceExposure = 0;       ///< the share of a product's HBM time that computing does not hide
  double portBytesPerSecond = 1;
  std::int64_t ports = 1;
  double collectiveEfficiency = 1, collectiveLatency = 0;
  /// Rate in bytes per second at which the copy engines add up what collectives receive. 0: no rate is known,
  /// so these sums take no time of their own.
  double sumBytesPerSecond = 0;
  /// Most bytes of a card's share that a collective over boxes moves at once.
  std::int64_t collectiveSlice = 1;

  /// Multiply-adds per cycle for products in this type; 0: the card does not compute in it.
  std::int64_t macs(ElementType type) const;
};

/// Reads the figures of a card. Fails with a sentence that names the file and the key of a missing or
/// absurd figure.
base::Result<Card> readCard(const FigureFile& file);

}  // namespace pipescope::devices::gaudi
