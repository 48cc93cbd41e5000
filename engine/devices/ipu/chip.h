#pragma once
// The figures of one IPU as plain numbers, read from its TOML.
#include <cstdint>
#include <string>

#include "engine/devices/core/figures.h"
#include "engine/graph/tensor_type.h"
#include "profiler/base/result.h"
#include "profiler/base/units.h"

namespace pipescope::devices::ipu {

using graph::ElementType;

struct Chip {
  std::string name, description;
  std::int64_t tiles = 1;
  std::int64_t workers = 6;  ///< slots per tile that issue in strict rotation
  std::int64_t bytesPerTile = 0;
  std::int64_t interleavedStart = 0;  ///< address in a tile from which 128-bit loads are possible
  std::int64_t elementBytes = 16384;  ///< a memory element: two accesses in one cycle need two of them
  std::int64_t clockHz = 1;
  std::int64_t ampHalf = 0, ampHalfFloat = 0, ampFloat = 0;  ///< multiply-adds per cycle and tile
  std::int64_t ampQuarter = 0;                               ///< fp8; 0: the chip has none
  std::int64_t vectorBytes = 8;                              ///< per issue
  std::int64_t wideLoadBytes = 16;                           ///< per cycle from interleaved memory
  double exchangeBytesPerCycle = 4;                          ///< receive, and send, per tile
  double exchangePairFactor = 2;        ///< for pairs of tiles that receive the same data
  std::int64_t computeSetOverhead = 0;  ///< cycles: launch and internal sync
  std::int64_t exchangeOverhead = 0;    ///< cycles: before the bytes
  double syncHopSeconds = 0;
  double hostBytesPerSecond = 1, hostLatencySeconds = 0, callSeconds = 0;
  std::int64_t stackBytes = 0;
  bool compilesCode = true;  ///< an IPU Model may leave vertex and control code out of memory

  std::int64_t halfWidth() const { return vectorBytes / 2; }
  /// Elements of a type per vector; integers of 4 bytes and more count as 4.
  std::int64_t vectorWidth(ElementType type) const;
  base::Timebase timebase() const { return {clockHz}; }
};

/// Whether the vector unit computes in this type (float32 and float16); integers run through its 32-bit
/// lanes.
bool isHalf(ElementType type);

base::Result<Chip> readChip(const FigureFile& file);

}  // namespace pipescope::devices::ipu
