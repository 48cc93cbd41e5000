#pragma once
// Cycles of the vertices that compute products on one tile, by the formulas of PopLibs' poplin (C: read in
// vendor code).
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/devices/ipu/chip.h"
#include "engine/devices/ipu/conv_shape.h"

namespace pipescope::devices::ipu {

/// Kind of vertex and how it groups channels.
struct ConvVertex {
  enum class Method : std::uint8_t { amp, slic, horizontalMac, outerProduct };
  Method method = Method::amp;
  std::int64_t groupGroup = 1;  ///< convolution groups done together (SLIC)
  std::int64_t inGroup = 1, outGroup = 1;
  std::int64_t convUnits = 0;     ///< AMP
  std::int64_t filterHeight = 1;  ///< AMP: kernel rows that fill up the input channels of a unit

  friend bool operator==(const ConvVertex&, const ConvVertex&) = default;
};

/// What one tile computes: output positions, kernel elements and channel groups.
struct ConvTile {
  std::int64_t groups = 1;  ///< of ConvVertex::groupGroup convolution groups
  std::int64_t batch = 1;
  std::array<std::int64_t, kMaximumDims> output{1, 1, 1}, kernel{1, 1, 1};
  std::int64_t inGroups = 1, outGroups = 1;
};

/// Weights that one unit of the AMP holds: 16 of float16, 8 of float32.
std::int64_t weightsPerUnit(const ConvShape& shape);

/// All vertices that a chip has for a product of this shape, most promising first.
std::vector<ConvVertex> convVertices(const Chip& chip, const ConvShape& shape);

/// Slowest and fastest of a tile's workers when they share rows of output positions.
struct WorkerCycles {
  std::int64_t slowest = 0, fastest = 0;
};

/// What was found for numbers of rows and widths: a planner asks for the same ones very often. Belongs to one
/// vertex of one shape.
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

/// Tile cycles of the vertex on `tile` of the (transformed) shape; without launch and sync.
std::int64_t convVertexCycles(const Chip& chip, const ConvShape& shape, const ConvVertex& vertex,
                              const ConvTile& tile, WorkerCache& cache);
std::int64_t convVertexCycles(const Chip& chip, const ConvShape& shape, const ConvVertex& vertex,
                              const ConvTile& tile);

/// Multiply-adds per cycle that the vertex can reach: a bound for the planner.
std::int64_t peakMultiplyAdds(const Chip& chip, const ConvShape& shape, const ConvVertex& vertex);

/// True where the tile's product can use the 1×1 vertex, which has the least overhead.
bool usesOneByOne(const ConvShape& shape, const ConvVertex& vertex, const ConvTile& tile);

/// PopLibs' name of the vertex: "poplin::ConvPartial1x1Out<half,float>".
std::string vertexName(const ConvShape& shape, const ConvVertex& vertex, bool oneByOne);

}  // namespace pipescope::devices::ipu
