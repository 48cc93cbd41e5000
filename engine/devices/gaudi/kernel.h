#pragma once
// What one piece of Work becomes on a Gaudi: kernels of one engine each. One file lowers one kind of Work;
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
model::LaneRole laneOf(Engine engine);

/// A kernel's own time counts what its engine does while everything is at hand; reading and writing HBM come
/// on top when it is known which tensors lie there (recipe.h).
struct Kernel {
  Engine engine = Engine::tpc;
  std::string name;         ///< own part of the name path: "Gemm", "Add"
  double arithmetic = 0;    ///< seconds of the engine's units
  std::int64_t units = 1;   ///< that work, of those that the card has
  std::int64_t starts = 1;  ///< dependent starts, one after another: a loop of the operator
  /// Bytes moved between SRAM and engine beyond each operand and result once.
  std::int64_t sramBytes = 0;
  /// Bytes of operands read from HBM again, where they do not lie in SRAM as a whole.
  std::int64_t againBytes = 0;
  std::int64_t workspace = 0;  ///< bytes of HBM while it runs
  /// Slower access than in whole cache lines: bytes moved ÷ bytes used, of all operands and results.
  double spread = 1;
  /// Works element by element: may be fused with a neighbour that does.
  bool elementwise = false;
  /// Its result is known only when all has been read: what comes after reads the operands again.
  bool barrier = false;
  std::int64_t bytesIn = 0, bytesOut = 0;  ///< host copies and collectives
  /// Bytes of HBM that it reads and writes besides the tensors that it reads and makes: of a bucket of
  /// gradients.
  std::int64_t bucketRead = 0, bucketWritten = 0;
};

struct LoweringContext {
  const Card& card;
  const Fabric& fabric;
  compile::Replication replication;  ///< says which cards a collective is among
  int device = 0;
  std::string what = {};  ///< the operator, for error sentences
};

/// Lowers one execution of the Work (its repeats are the caller's). Fails with a sentence where a Gaudi
/// cannot do it.
base::Result<Kernel> lowerWork(const ops::WorkItem& item, const LoweringContext& context);

// One file each.
base::Result<Kernel> lower(const ops::Contraction& work, const LoweringContext& context);
base::Result<Kernel> lower(const ops::Map& work, const LoweringContext& context);
base::Result<Kernel> lower(const ops::Reduce& work, const LoweringContext& context);
base::Result<Kernel> lower(const ops::Pool& work, const LoweringContext& context);
base::Result<Kernel> lower(const ops::Gather& work, const LoweringContext& context);
base::Result<Kernel> lower(const ops::Scatter& work, const LoweringContext& context);
base::Result<Kernel> lower(const ops::Rearrange& work, const LoweringContext& context);
base::Result<Kernel> lower(const ops::Sort& work, const LoweringContext& context);
base::Result<Kernel> lower(const ops::Random& work, const LoweringContext& context);
base::Result<Kernel> lower(const ops::Collective& work, const LoweringContext& context);
base::Result<Kernel> lower(const ops::HostCopy& work, const LoweringContext& context);

/// A TPC kernel of so many instructions for each vector of the elements' type. TPCs take whole vectors.
Kernel tpcKernel(const Card& card, const std::string& name, std::int64_t elements, ElementType type,
                 double instructions);
/// Seconds in which TPCs load or store so many bytes.
double accessSeconds(const Card& card, double bytes);

/// A sentence unless the product of the extents is between 1 and 2^42, and each of them at least 1.
base::Status checkElements(const std::string& extent, const std::vector<std::int64_t>& factors,
                           const LoweringContext& context);
/// A sentence unless the card computes in this type.
base::Status checkComputes(ElementType type, const LoweringContext& context);

}  // namespace pipescope::devices::gaudi
