#pragma once
// Lowers one piece of Work for an IPU: to program steps over tiles, the vertices that they run, and the
// memory that they need meanwhile. One file lowers one kind of Work, and lowerWork() picks it.
#include <cstdint>
#include <string>
#include <vector>

#include "engine/compile/ir.h"
#include "engine/devices/ipu/chip.h"
#include "engine/devices/ipu/collectives/ladder.h"
#include "engine/devices/ipu/memory/tile_runs.h"
#include "engine/devices/ipu/products/operand_places.h"
#include "engine/devices/ipu/products/planner.h"
#include "engine/ops/core/work.h"
#include "profiler/base/result.h"
#include "profiler/model/enums.h"

namespace pipescope::devices::ipu {

/// The vertices of one type in a compute set.
struct LoweredVertex {
  std::string type;             ///< PopLibs' name, "popops::BinaryOp1D<add,float>"
  std::int64_t codeBytes = 0;   ///< bytes of code, once per tile and type
  std::int64_t stateBytes = 0;  ///< per tile: the vertices' fields and edge pointers
  std::int64_t fieldBytes = 0;  ///< per tile: the lists that the vertices point to
};

struct ProgramStep {
  model::StepKind kind = model::StepKind::compute;
  std::string program;    ///< "OnTileExecute" …
  std::string name;       ///< part of the name path: "Convolve"
  TileRuns cycles;        ///< cycles of each tile, without the sync before the step
  std::int64_t sync = 0;  ///< cycles of the sync before the step
  bool once = false;      ///< true: this step of repeated Work runs once, before or after all repetitions
  /// Bytes that all tiles receive, and bytes that they send. A broadcast counts once as sent, and once for
  /// each tile that hears it as received.
  std::int64_t bytesIn = 0, bytesOut = 0;
  std::vector<LoweredVertex> vertices;
  /// Pieces that the busiest receiver of an exchange receives, and sends if `senders` is empty. They decide
  /// the size of the exchange's code.
  std::int64_t messages = 0;
  /// Pieces that each tile sends in an exchange whose senders are other tiles than its receivers.
  TileRuns senders = {};
  /// Share of an exchange's messages that come from operands which may lie at an address of their own. All
  /// others come from temporaries.
  double ownAddresses = 1;
};

/// Memory that is live during some of the steps.
struct Temporary {
  /// Operands of the AMP need 128-bit loads and so interleaved memory. Partial sums that are written while
  /// others are read need a memory element of their own.
  using Place = model::MemoryPlace;
  std::string name;
  TileRuns bytes;
  Place place = Place::anywhere;
  std::size_t first = 0, end = 0;  ///< live in steps [first, end)
};

struct LoweredWork {
  std::vector<ProgramStep> steps;
  std::vector<Temporary> temporaries;
  std::size_t resultFrom = 0;  ///< the first step that writes the result, which needs no memory before
  /// Memory in which the result must lie, because the vertex that makes it writes it there itself.
  Temporary::Place resultPlace = Temporary::Place::anywhere;
  /// The bytes of the result on each tile, if the work leaves it where it computes it. Empty: it is spread
  /// evenly.
  TileRuns resultRuns = {};
  /// Shares of the operands on the tiles if they are laid out for this work, in any unit. Empty: it wants no
  /// layout.
  TileRuns leftShares = {}, rightShares = {};

  /// Adds a compute set and returns its index. Adds none if no tile has work.
  std::size_t compute(const Chip& chip, const std::string& name, TileRuns cycles, LoweredVertex vertices);
  /// Adds an exchange in which each tile receives `received` bytes at `factor` times the rate of a tile, and
  /// sends `sent` bytes; empty: as many as it receives. It takes as long as the larger of the two. Adds none
  /// if no tile receives anything. `pieceBytes` lie together on a sending tile. If fewer bytes are sent than
  /// received, many tiles hear each of them, and a tile sends one piece. Copies on the tiles put smaller
  /// pieces than a vector together.
  void exchange(const Chip& chip, const std::string& name, const TileRuns& received, double factor,
                std::int64_t pieceBytes, const TileRuns& sent = {});
  void hold(const std::string& name, TileRuns bytes, std::size_t first, std::size_t end,
            Temporary::Place place = Temporary::Place::anywhere);
  /// Adds the steps of `next` behind these.
  void append(LoweredWork next);
  /// Lets the work begin on another tile of the chip.
  void moveTo(const Chip& chip, std::int64_t firstTile);
  /// Cycles of all steps, one after another.
  std::int64_t cycles() const;
};

struct IpuLoweringContext {
  const Chip& chip;
  Planner& planner;
  double memoryProportion = 0.6;
  double hostBytesPerSecond = 1;
  std::string what = {};        ///< the operator, for error sentences
  bool halfPartials = false;    ///< products of float16 keep float16 sums, whatever the Work says
  bool jointPlans = true;       ///< the three products of a trained layer may share one plan
  OperandPlaces operands = {};  ///< of the product that is lowered
  // Collectives need these three.
  const Ladder* ladder = nullptr;  ///< null: a single chip
  compile::Mesh mesh = {};
  int device = 0;  ///< device of the stages that are lowered
  // Streaming memory of a chip; 0: the system has none. In an update, fewer chips may share it than
  // otherwise.
  double streamingBytesPerSecond = 0;
  std::int64_t streamingBytes = 0;
  double updateStreamingBytesPerSecond = 0;
  /// Tiles behind the computing ones that only carry data to and from the host.
  std::int64_t ioTiles = 0;
};

/// Lowers one execution of the Work; the caller applies the repeat count. Fails with a sentence if an IPU
/// cannot do it.
base::Result<LoweredWork> lowerWork(const ops::WorkItem& item, const IpuLoweringContext& context);

// Each of these is in a file of its own.
base::Result<LoweredWork> lower(const ops::Contraction& work, const IpuLoweringContext& context);
base::Result<LoweredWork> lower(const ops::Map& work, const IpuLoweringContext& context);
base::Result<LoweredWork> lower(const ops::Reduce& work, const IpuLoweringContext& context);
base::Result<LoweredWork> lower(const ops::Pool& work, const IpuLoweringContext& context);
base::Result<LoweredWork> lower(const ops::Gather& work, const IpuLoweringContext& context);
base::Result<LoweredWork> lower(const ops::Scatter& work, const IpuLoweringContext& context);
base::Result<LoweredWork> lower(const ops::Rearrange& work, const IpuLoweringContext& context);
base::Result<LoweredWork> lower(const ops::Sort& work, const IpuLoweringContext& context);
base::Result<LoweredWork> lower(const ops::Random& work, const IpuLoweringContext& context);
base::Result<LoweredWork> lower(const ops::Collective& work, const IpuLoweringContext& context);
base::Result<LoweredWork> lower(const ops::HostCopy& work, const IpuLoweringContext& context);

/// A product that is done at each step of a sequence, with bringing its result into the order of the state.
base::Result<LoweredWork> lowerSequenceProduct(const ops::Contraction& work,
                                               const IpuLoweringContext& context);

/// Runs independent products side by side, each on a share of the tiles in proportion to its multiply-adds.
/// Steps that the products have in common become one step, as in PopLibs' multi-convolutions.
base::Result<LoweredWork> lowerSideBySide(const std::vector<ops::Contraction>& products,
                                          const IpuLoweringContext& context);

/// Bytes on each of the tiles for input and output; empty if there are no such tiles.
TileRuns onIoTiles(const IpuLoweringContext& context, std::int64_t bytes);

/// Fails with a sentence unless the vector unit computes in this type.
base::Status checkComputes(ElementType type, const IpuLoweringContext& context);
/// Fails with a sentence unless each extent is at least 1 and their product at most 2^40.
base::Status checkElements(const std::string& extent, const std::vector<std::int64_t>& factors,
                           const IpuLoweringContext& context);

}  // namespace pipescope::devices::ipu
