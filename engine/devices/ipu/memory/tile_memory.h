#pragma once
// The memory of all tiles of one IPU for one executable: what lies where, in which category, and what is live
// when.
//
// Always live are weights, optimizer state, constants, stashes, code, vertices, descriptors and the stack.
// Everything else shares addresses, so a tile needs its peak over the program's steps. A tile has
// non-interleaved memory from address 0 and interleaved memory from Chip::interleavedStart on. Data that need
// 128-bit loads must lie in interleaved memory. If the rest is smaller than the memory below, a gap remains
// there; if it is larger, it spills over.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/devices/core/device_family.h"
#include "engine/devices/ipu/chip.h"
#include "engine/devices/ipu/lowered_work.h"
#include "engine/devices/ipu/memory/overflow_text.h"
#include "engine/devices/ipu/memory/tile_layout.h"
#include "engine/devices/ipu/memory/tile_runs.h"

namespace pipescope::devices::ipu {

class TileMemory {
 public:
  /// `ioTiles` further tiles follow the chip's. They hold no tensor and no code, only what is put there by
  /// tile.
  explicit TileMemory(const Chip& chip, std::int64_t ioTiles = 0);

  /// Adds the next program step and returns its index.
  std::int32_t addStep(std::string name, const ProgramStep& step, model::Pass pass);
  std::int32_t steps() const { return static_cast<std::int32_t>(steps_.size()); }

  /// Adds a tensor, spread evenly from the tile where the last one ended. Returns its index in the list of
  /// variables.
  std::size_t addTensor(const std::string& name, const std::string& category, const std::string& shape,
                        std::int64_t elements, std::int64_t elementBytes, bool alwaysLive, bool constant,
                        int stage);
  /// Adds anything else that is always live; `category` is libpva's.
  void addAlwaysLive(const std::string& name, const std::string& category, const TileRuns& bytes, int stage);
  /// Adds an always-live buffer for a tensor on its way to or from the host.
  void addStreamBuffer(const std::string& name, const TileRuns& bytes, int stage);
  /// Adds the code of the vertices of the last step (once per tile and type) and their state under the
  /// operator's name.
  void addVertices(const std::string& name, const ProgramStep& step, int stage);
  void addTemporary(const std::string& name, const Temporary& temporary, std::int32_t firstStep, int stage);
  /// Marks the variable as live in steps [first, end).
  void addLife(std::size_t variable, std::int32_t first, std::int32_t end);
  /// Puts a tensor where the vertex that makes it can write it.
  void place(std::size_t variable, Temporary::Place place, const TileRuns& bytes);
  /// Divides a tensor among tiles in proportion to `shares`, in whole elements, beginning on `start`.
  void layOut(std::size_t variable, const TileRuns& shares, std::int64_t start);
  /// Spreads a tensor evenly from the tile `start`.
  void spreadFrom(std::size_t variable, std::int64_t start);
  /// The elements of a tensor on the tile that holds most of them.
  std::int64_t mostElements(std::size_t variable) const;
  const TileRuns& runsOf(std::size_t variable) const { return variables_[variable].runs; }
  /// The tile that holds the first element of a tensor.
  std::int64_t startOf(std::size_t variable) const { return variables_[variable].start; }

  /// Adds what every program has (vertex code and stack), and works out liveness, addresses and overflow.
  LoweredMemory finish(const std::string& deviceName);

 private:
  struct Variable {
    LoweredVariable row;
    TileRuns runs;
    std::int64_t start = 0;         ///< first tile of a tensor
    std::int64_t elementBytes = 1;  ///< bytes of an element of a tensor
  };

  void add(Variable variable);
  /// Adds the vertices of a type that run on the tiles with cycles in the last step.
  void addUse(const LoweredVertex& use, const TileRuns& cycles);
  std::map<std::string, TileCategory> alwaysLiveByCategory() const;
  TilePeaks replay(LoweredMemory& memory) const;
  std::string describeOverflow(const std::string& deviceName, const TileLayout& layout) const;
  /// The step at which the tile is fullest, not counting what is always live; −1: the tile holds nothing
  /// else.
  std::int32_t fullestStepOn(std::int64_t tile) const;
  /// The largest come first.
  std::vector<TileContent> liveOn(std::int64_t tile, std::int32_t step) const;

  struct Code {
    std::int64_t bytes = 0;
    std::vector<bool> tiles;
  };

  const Chip& chip_;
  Chip whole_;  ///< the chip with the tiles for input and output
  std::vector<LoweredStepMemory> steps_;
  std::vector<Variable> variables_;
  std::map<std::string, Code> code_;
  std::vector<LoweredVertices> vertices_;  ///< vertices without the bytes of their code
  std::int64_t nextTile_ = 0;
};

}  // namespace pipescope::devices::ipu
