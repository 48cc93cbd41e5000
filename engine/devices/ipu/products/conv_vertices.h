#pragma once
// The vertices that compute products on one tile, and their cycles by the formulas of PopLibs' poplin (C:
// read in vendor code).
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/devices/ipu/chip.h"
#include "engine/devices/ipu/products/conv_shape.h"

namespace pipescope::devices::ipu {

/// A vertex, and how it groups channels.
struct ConvVertex {
  enum class Method : std::uint8_t { amp, slic, horizontalMac, verticalMac, outerProduct };
  Method method = Method::amp;
  std::int64_t groupGroup = 1;  ///< convolution groups that SLIC or the vertical MAC does together
  std::int64_t inGroup = 1, outGroup = 1;
  std::int64_t convUnits = 0;     ///< AMP
  std::int64_t filterHeight = 1;  ///< AMP: rows of the kernel that fill up the input channels of a unit
  /// True if the vertex sums in float16, though the product's sums are float32: one pass over the input
  /// channels makes the whole result, and nothing is added to it.
  bool halfResult = false;

  friend bool operator==(const ConvVertex&, const ConvVertex&) = default;
};

/// The share of one tile: output positions, kernel elements and groups of channels.
struct ConvTile {
  std::int64_t groups = 1;  ///< number of units of ConvVertex::groupGroup convolution groups
  std::int64_t batch = 1;
  std::array<std::int64_t, kMaximumDims> output{1, 1, 1}, kernel{1, 1, 1};
  std::int64_t inGroups = 1, outGroups = 1;
};

/// Weights that a unit of the AMP holds: 16 of float16 or 8 of float32.
std::int64_t weightsPerUnit(const ConvShape& shape);

/// Units of the AMP that run side by side. A unit makes weightsPerUnit products in 4 worker cycles (float16,
/// float8) or 8 (float32).
std::int64_t convUnitsOf(const Chip& chip, const ConvShape& shape);

/// All vertices that the chip has for a product of this shape; the most promising come first.
std::vector<ConvVertex> convVertices(const Chip& chip, const ConvShape& shape);

/// The slowest and the fastest of a tile's workers, when they share rows of output positions.
struct WorkerCycles {
  std::int64_t slowest = 0, fastest = 0;
};

/// Remembers results for numbers of rows and widths, because a planner asks for the same ones very often. A
/// cache belongs to one vertex of one shape.
class WorkerCache {
 public:
  template <class Deal>
  WorkerCycles get(std::int64_t rows, std::int64_t width, int variant, Deal deal) {
    Entry& entry = entries_[static_cast<std::size_t>(rows * 31 + width * 2 + variant) % kSize];
    if (entry.rows != rows || entry.width != width || entry.variant != variant)
      entry = {rows, width, variant, deal()};
    return entry.cycles;
  }

 private:
  static constexpr std::size_t kSize = 256;
  struct Entry {
    std::int64_t rows = -1, width = -1;
    int variant = 0;
    WorkerCycles cycles;
  };
  std::array<Entry, kSize> entries_{};
};

/// Tile cycles of the vertex for its share of the (transformed) shape, without launch and sync.
std::int64_t convVertexCycles(const Chip& chip, const ConvShape& shape, const ConvVertex& vertex,
                              const ConvTile& tile, WorkerCache& cache);
std::int64_t convVertexCycles(const Chip& chip, const ConvShape& shape, const ConvVertex& vertex,
                              const ConvTile& tile);

/// The most multiply-adds per cycle that the vertex can reach; the planner uses it as a bound.
std::int64_t peakMultiplyAdds(const Chip& chip, const ConvShape& shape, const ConvVertex& vertex);

/// True if the tile's share can use the 1×1 vertex, which has the least overhead.
bool usesOneByOne(const ConvShape& shape, const ConvVertex& vertex, const ConvTile& tile);

/// PopLibs' name of the vertex: "poplin::ConvPartial1x1Out<half,float>".
std::string vertexName(const ConvShape& shape, const ConvVertex& vertex, bool oneByOne);

}  // namespace pipescope::devices::ipu
