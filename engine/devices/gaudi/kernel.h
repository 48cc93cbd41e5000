#pragma once
// Lowers one piece of Work to a kernel of one engine of a Gaudi. One file lowers one kind of Work, and
// lowerWork() picks it.
#include <cstdint>
#include <string>
#include <vector>

#include "engine/compile/plan.h"
#include "engine/devices/gaudi/card.h"
#include "engine/devices/gaudi/fabric.h"
#include "engine/ops/core/work.h"
#include "profiler/base/result.h"
#include "profiler/model/enums.h"

namespace pipescope::devices::gaudi {

enum class Engine : std::uint8_t { mme, tpc, dma, nic, host };
/// The lane on which an engine works.
model::LaneRole laneOf(Engine engine);

/// A kernel's own time covers what its engine does while all data is at hand. The time to read and write HBM
/// is added once it is known which tensors lie there (recipe.h).
struct EngineKernel {
  Engine engine = Engine::tpc;
  std::string name;         ///< part of the name path: "Gemm", "Add"
  double arithmetic = 0;    ///< seconds on the engine's units
  std::int64_t units = 1;   ///< units of the card that work
  std::int64_t starts = 1;  ///< starts that depend on each other, as in a loop of the operator
  /// Bytes that move between SRAM and the engine beyond reading each operand and writing each result once.
  std::int64_t sramBytes = 0;
  /// Bytes that the groups of engines read of all operands if each keeps what it needs in its own part of
  /// SRAM; -1: that does not fit.
  std::int64_t groupBytes = -1;
  /// Bytes of operands that come from HBM again if they do not fit into SRAM.
  std::int64_t againBytes = 0;
  std::int64_t workspace = 0;  ///< bytes of HBM that it needs while it runs
  /// Bytes moved ÷ bytes used over all operands and results; above 1 if accesses do not use whole cache
  /// lines.
  double spread = 1;
  /// It works element by element, so it may be fused with a neighbour that does too.
  bool elementwise = false;
  /// The result is known only when everything has been read, so whatever follows reads the operands again.
  bool barrier = false;
  /// Reads only `pickedBytes`, the rows that indices name, of an operand of `tableBytes`. If tableBytes is 0,
  /// the kernel reads its operands whole.
  std::int64_t tableBytes = 0, pickedBytes = 0;
  std::int64_t bytesIn = 0, bytesOut = 0;  ///< only for host copies and collectives
  /// Bytes of gradient buckets that it reads from and writes to HBM, besides its tensors.
  std::int64_t bucketRead = 0, bucketWritten = 0;
};

struct GaudiLoweringContext {
  const Card& card;
  const Fabric& fabric;
  compile::Mesh mesh;  ///< says which cards take part in a collective
  int device = 0;
  std::string what = {};  ///< the operator, for error sentences
};

/// Lowers one execution of the Work; the caller applies the repeat count. Fails with a sentence if a Gaudi
/// cannot do it.
base::Result<EngineKernel> lowerWork(const ops::WorkItem& item, const GaudiLoweringContext& context);

// Each of these is in a file of its own.
base::Result<EngineKernel> lower(const ops::Contraction& work, const GaudiLoweringContext& context);
base::Result<EngineKernel> lower(const ops::Map& work, const GaudiLoweringContext& context);
base::Result<EngineKernel> lower(const ops::Reduce& work, const GaudiLoweringContext& context);
base::Result<EngineKernel> lower(const ops::Pool& work, const GaudiLoweringContext& context);
base::Result<EngineKernel> lower(const ops::Gather& work, const GaudiLoweringContext& context);
base::Result<EngineKernel> lower(const ops::Scatter& work, const GaudiLoweringContext& context);
base::Result<EngineKernel> lower(const ops::Rearrange& work, const GaudiLoweringContext& context);
base::Result<EngineKernel> lower(const ops::Sort& work, const GaudiLoweringContext& context);
base::Result<EngineKernel> lower(const ops::Random& work, const GaudiLoweringContext& context);
base::Result<EngineKernel> lower(const ops::Collective& work, const GaudiLoweringContext& context);
base::Result<EngineKernel> lower(const ops::HostCopy& work, const GaudiLoweringContext& context);

/// A TPC kernel that takes `instructions` for each vector of the elements' type. TPCs work on whole vectors.
EngineKernel tpcKernel(const Card& card, const std::string& name, std::int64_t elements, ElementType type,
                       double instructions);
/// Seconds in which the TPCs load or store `bytes`.
double accessSeconds(const Card& card, double bytes);

/// Fails with a sentence unless each extent is at least 1 and their product at most 2^48: the scores of a
/// million tokens, which fused attention never writes, are some 10^13.
base::Status checkElements(const std::string& extent, const std::vector<std::int64_t>& factors,
                           const GaudiLoweringContext& context);
/// Fails with a sentence unless the card computes in this type.
base::Status checkComputes(ElementType type, const GaudiLoweringContext& context);

}  // namespace pipescope::devices::gaudi
