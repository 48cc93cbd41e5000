#pragma once
// The figures of one IPU as plain numbers, read from its TOML.
#include <cstdint>
#include <optional>
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
  std::int64_t workers = 6;  ///< hardware threads of a tile, which issue instructions in strict rotation
  std::int64_t bytesPerTile = 0;
  std::int64_t interleavedStart = 0;  ///< the address in a tile from which 128-bit loads are possible
  std::int64_t elementBytes = 16384;  ///< a memory element; two accesses in one cycle need two of them
  std::int64_t clockHz = 1;
  std::int64_t ampHalf = 0, ampHalfFloat = 0, ampFloat = 0;  ///< multiply-adds per cycle and tile
  std::int64_t ampQuarter = 0;          ///< multiply-adds for fp8; 0: the chip has no fp8
  std::optional<Float8Support> float8;  ///< nothing: ampQuarter is 0
  std::int64_t vectorBytes = 8;         ///< bytes of a vector instruction
  std::int64_t wideLoadBytes = 16;      ///< per cycle from interleaved memory
  /// Bytes of weights that the AMP takes in per cycle: vectorBytes, or wideLoadBytes where a program asks for
  /// wide loads.
  std::int64_t weightLoadBytes = 8;
  double exchangeBytesPerCycle = 4;     ///< bytes that a tile receives, and sends
  double exchangePairFactor = 2;        ///< speed-up for pairs of tiles that receive the same data
  std::int64_t computeSetOverhead = 0;  ///< cycles of launch and internal sync
  std::int64_t exchangeOverhead = 0;    ///< cycles before the first byte
  double syncHopSeconds = 0;
  double hostBytesPerSecond = 1, hostLatencySeconds = 0, callSeconds = 0;
  std::int64_t stackBytes = 0;
  bool compilesCode = true;  ///< false for an IPU Model that leaves vertex and control code out of its memory

  /// Elements of a type per vector. Whole numbers of 4 bytes and more count as 4 bytes.
  std::int64_t vectorWidth(ElementType type) const;
  base::Timebase timebase() const { return {clockHz}; }
};

/// True if the type is float16. The vector unit computes in float16 and float32; whole numbers run through
/// its 32-bit lanes.
bool isHalf(ElementType type);

/// Reads the figures of a chip. Fails with a sentence that names the file and the key of a missing or
/// absurd figure.
base::Result<Chip> readChip(const FigureFile& file);

/// Seconds of a sync of so many devices. Each hop takes the chip's time there and back; there is one hop per
/// four IPUs and one more (C: PopLibs test library).
double syncSeconds(const Chip& chip, int devices);

}  // namespace pipescope::devices::ipu
