#pragma once
// What one piece of Work becomes on an IPU: program steps over tiles, the vertices they run, and the memory
// they need meanwhile. One file lowers one kind of Work; lowerWork() picks it.
#include <cstdint>
#include <string>
#include <vector>

#include "engine/compile/plan.h"
#include "engine/devices/ipu/chip.h"
#include "engine/devices/ipu/ladder.h"
#include "engine/devices/ipu/planner.h"
#include "engine/devices/ipu/tile_runs.h"
#include "engine/ops/core/work.h"
#include "profiler/base/result.h"
#include "profiler/model/enums.h"

namespace pipescope::devices::ipu {

/// Vertices of one type in a compute set.
struct VertexUse {
  std::string type;             ///< PopLibs' name, "popops::BinaryOp1D<add,float>"
  std::int64_t codeBytes = 0;   ///< once per tile and type
  std::int64_t stateBytes = 0;  ///< per tile: vertices' fields and edge pointers
  std::int64_t fieldBytes = 0;  ///< per tile: lists that the vertices point to
};

struct ProgramStep {
  model::StepKind kind = model::StepKind::compute;
  std::string program;    ///< "OnTileExecute" …
  std::string name;       ///< own part of the name path: "Convolve"
  TileRuns cycles;        ///< per tile, without the sync before the step
  std::int64_t sync = 0;  ///< cycles of that sync
  bool once = false;      ///< where the Work is repeated this is done after the last time only
  std::int64_t bytesIn = 0, bytesOut = 0;
  std::vector<VertexUse> vertices;
  std::int64_t messages =
      0;  ///< exchange: pieces that the busiest tile receives; decides the size of its code
};

/// Memory that lives during some of the steps only.
struct Temporary {
  /// AMP operands need 128-bit loads, hence interleaved memory; partial sums that are written while others
  /// are read need a memory element of their own.
  enum class Place : std::uint8_t { anywhere, interleaved, ownElement };
  std::string name;
  TileRuns bytes;
  Place place = Place::anywhere;
  std::size_t first = 0, end = 0;  ///< steps [first, end)
};

struct LoweredWork {
  std::vector<ProgramStep> steps;
  std::vector<Temporary> temporaries;

  /// Adds a compute set; none where no tile has work. Returns its index.
  std::size_t compute(const Chip& chip, const std::string& name, TileRuns cycles, VertexUse vertices);
  /// Adds an exchange in which each tile receives so many bytes, at `factor` times the rate of one tile; none
  /// where no tile receives any. `pieceBytes`: what lies together on a sending tile.
  void exchange(const Chip& chip, const std::string& name, const TileRuns& received, double factor,
                std::int64_t pieceBytes);
  void hold(const std::string& name, TileRuns bytes, std::size_t first, std::size_t end,
            Temporary::Place place = Temporary::Place::anywhere);
  /// Cycles of the steps one after another.
  std::int64_t cycles() const;
};

struct LoweringContext {
  const Chip& chip;
  Planner& planner;
  double memoryProportion = 0.6;
  double hostBytesPerSecond = 1;
  std::string what = {};      ///< the operator, for error sentences
  bool halfPartials = false;  ///< float16 products keep float16 sums, whatever the Work says
  // Of collectives.
  const Ladder* ladder = nullptr;  ///< none: a single chip
  compile::Replication replication = {};
  int device = 0;  ///< of the stages that are lowered
  // Streaming memory of a chip; 0: the system has none. In updates it may be shared with fewer chips than
  // otherwise.
  double streamingBytesPerSecond = 0;
  std::int64_t streamingBytes = 0;
  double updateStreamingBytesPerSecond = 0;
  /// Tiles after the chip's own that only carry data to and from the host.
  std::int64_t ioTiles = 0;
};

/// Lowers one execution of the Work (its repeats are the caller's). Fails with a sentence where an IPU cannot
/// do it.
base::Result<LoweredWork> lowerWork(const ops::WorkItem& item, const LoweringContext& context);

// One file each.
base::Result<LoweredWork> lower(const ops::Contraction& work, const LoweringContext& context);
base::Result<LoweredWork> lower(const ops::Map& work, const LoweringContext& context);
base::Result<LoweredWork> lower(const ops::Reduce& work, const LoweringContext& context);
base::Result<LoweredWork> lower(const ops::Pool& work, const LoweringContext& context);
base::Result<LoweredWork> lower(const ops::Gather& work, const LoweringContext& context);
base::Result<LoweredWork> lower(const ops::Scatter& work, const LoweringContext& context);
base::Result<LoweredWork> lower(const ops::Rearrange& work, const LoweringContext& context);
base::Result<LoweredWork> lower(const ops::Sort& work, const LoweringContext& context);
base::Result<LoweredWork> lower(const ops::Random& work, const LoweringContext& context);
base::Result<LoweredWork> lower(const ops::Collective& work, const LoweringContext& context);
base::Result<LoweredWork> lower(const ops::HostCopy& work, const LoweringContext& context);

/// Products that do not depend on each other, each on a share of the tiles by its multiply-adds. What they
/// have in common of their steps they do in the same steps. (As PopLibs' multi-convolutions do.)
base::Result<LoweredWork> lowerSideBySide(const std::vector<ops::Contraction>& products,
                                          const LoweringContext& context);

/// Bytes on each of the tiles for input and output; empty where there are none.
TileRuns onIoTiles(const LoweringContext& context, std::int64_t bytes);

/// A sentence unless the vector unit computes in this type.
base::Status checkComputes(ElementType type, const LoweringContext& context);
/// A sentence unless the product of the extents is between 1 and 2^40, and each of them at least 1.
base::Status checkElements(const std::string& extent, const std::vector<std::int64_t>& factors,
                           const LoweringContext& context);

}  // namespace pipescope::devices::ipu
