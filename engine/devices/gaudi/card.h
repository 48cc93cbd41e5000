#pragma once
// The figures of one Gaudi card as plain numbers, read from its TOML.
#include <cstdint>
#include <string>

#include "engine/devices/core/figures.h"
#include "engine/graph/tensor_type.h"
#include "profiler/base/result.h"
#include "profiler/base/units.h"

namespace pipescope::devices::gaudi {

using graph::ElementType;

/// Ticks are picoseconds: a card's engines have clocks of their own.
inline constexpr std::int64_t kTicksPerSecond = 1'000'000'000'000;

struct Card {
  std::string name, description;
  // Matrix engines (MME), all of a card together.
  std::int64_t macsBf16 = 1, macsFp32 = 1, macsFp16 = 0, macsFp8 = 0;  ///< per cycle; 0: the card has none
  std::int64_t engines = 1;  ///< that may work on products of their own
  std::int64_t leastSide = 1,
               mostRows = 1;  ///< of the geometries, in multiply-adds: rows × columns = macsBf16
  std::int64_t rollUp = 0;    ///< cycles in which a block's sums are read out
  double mmeHz = 1;
  // Tensor processor cores (TPC).
  std::int64_t tpcs = 1, vectorBytes = 256, localBytes = 0;
  double tpcHz = 1, accessInterval = 1, tpcLatency = 1;
  // Memory. Effective: what kernels reach.
  std::int64_t sramBytes = 1, hbmBytes = 1, hbmReserved = 0, cacheLine = 1;
  double sramBytesPerSecond = 1, hbmBytesPerSecond = 1, hbmEffective = 1;
  double dmaBytesPerSecond = 1, dmaLatency = 0, dmaSliceFactor = 1;
  bool operandsByDma = false;  ///< the MME's operands come into SRAM by DMA; otherwise it reads HBM itself
  double sliceExposure = 0;    ///< share of a product's HBM time that computing does not hide
  double kernelOverhead = 0, recipeLaunch = 0, callOverhead = 0;
  double hostBytesPerSecond = 1, hostLatency = 0;
  double portBytesPerSecond = 1;
  std::int64_t ports = 1;
  double collectiveEfficiency = 1, collectiveLatency = 0;

  /// Multiply-adds per cycle of products in this type; 0: the card has none.
  std::int64_t macs(ElementType type) const;
  std::int64_t usableHbm() const { return hbmBytes - hbmReserved; }
  base::Timebase timebase() const { return {kTicksPerSecond}; }
};

base::Result<Card> readCard(const FigureFile& file);

}  // namespace pipescope::devices::gaudi
