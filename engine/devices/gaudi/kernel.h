#pragma once
// Lowers one piece of Work to a kernel of one engine of a Gaudi. One file lowers one kind of Work, and
// lowerWork() picks it.
#include <cstdint>
#include <string>
#include <vector>

#include "engine/compile/ir.h"
#include "engine/devices/gaudi/card.h"
#include "engine/devices/gaudi/fabric.h"
#include "engine/devices/hbm_card/engine_kernel.h"
#include "engine/ops/core/work.h"
#include "profiler/base/result.h"

namespace pipescope::devices::gaudi {

using hbm_card::Engine;
using hbm_card::EngineKernel;

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

/// As hbm_card::checkElements.
base::Status checkElements(const std::string& extent, const std::vector<std::int64_t>& factors,
                           const GaudiLoweringContext& context);
/// Fails with a sentence unless the card computes in this type.
base::Status checkComputes(ElementType type, const GaudiLoweringContext& context);

}  // namespace pipescope::devices::gaudi
