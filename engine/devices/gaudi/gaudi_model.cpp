#include "engine/devices/gaudi/gaudi_model.h"

#include <algorithm>

#include "engine/devices/gaudi/bundles.h"

namespace pipescope::devices::gaudi {
namespace {

/// Seconds of SRAM for `bytes`, of which an engine finds `near` in the part of its own group.
double sramSeconds(std::int64_t bytes, std::int64_t near, double rate, double sharedRate) {
  const auto far = static_cast<double>(std::clamp<std::int64_t>(bytes - near, 0, bytes));
  return std::max(static_cast<double>(bytes) / rate, far / sharedRate);
}

}  // namespace

const hbm_card::ProgramNames& GaudiModel::programs() const {
  static constexpr hbm_card::ProgramNames names = {
      .kernels = {"MmeKernel", "TpcKernel", "DmaCopy", "Collective", "HostCopy"},
      .slices = "DmaSlices",
      .launch = "LaunchRecipe"};
  return names;
}

base::Result<EngineKernel> GaudiModel::lowerWork(const ops::WorkItem& item, const std::string& what) const {
  GaudiLoweringContext context = context_;
  context.what = what;
  return gaudi::lowerWork(item, context);
}

double GaudiModel::copySeconds(std::int64_t elements, ElementType type) const {
  return tpcKernel(context_.card, {}, elements, type, 1).arithmetic;
}

double GaudiModel::peakFlops(ElementType type) const {
  return 2 * static_cast<double>(context_.card.macs(type)) * context_.card.mmeHz;
}

std::vector<std::int32_t> GaudiModel::bundlesOf(const compile::StageIr& stage, const KernelList& list) const {
  return gaudi::bundlesOf(context_.card, stage, list);
}

KernelCost GaudiModel::costOf(const EngineKernel& kernel, const Traffic& traffic) const {
  const Card& card = context_.card;
  KernelCost cost;
  if (kernel.engine == Engine::host || kernel.engine == Engine::network) {
    cost.engine = cost.alone = kernel.arithmetic;
    return cost;
  }
  const double spread = spreadOf(kernel, traffic);
  // SRAM reads and writes at the same time.
  const std::int64_t fetched = traffic.moved - traffic.stored;
  const std::int64_t near = kernel.groupBytes >= 0 ? fetched - kernel.groupBytes : traffic.handedIn;
  cost.onChipReads =
      spread * sramSeconds(fetched, near, card.sramBytesPerSecond, card.sharedSramBytesPerSecond);
  cost.onChipWrites = spread * sramSeconds(traffic.stored, traffic.handedOut, card.sramWriteBytesPerSecond,
                                           card.sharedSramWriteBytesPerSecond);
  cost.memory = static_cast<double>(traffic.read + traffic.written) * spread / card.hbmEffective;
  cost.engine = std::max({kernel.arithmetic, cost.onChipReads, cost.onChipWrites});
  if (kernel.engine == Engine::vector) {
    // Loads and stores each have an instruction slot.
    const auto most = static_cast<double>(std::max(traffic.loaded, traffic.stored)) * spread;
    cost.engine = std::max(cost.engine, accessSeconds(card, most));
    cost.alone = std::max(cost.engine, cost.memory);
  } else if (kernel.engine == Engine::matrix) {
    if (card.operandsByCopy && cost.memory > 0) {
      const double moved = static_cast<double>(traffic.read + traffic.written) / card.dmaBytesPerSecond;
      cost.memory = std::max(cost.memory, moved) * card.dmaSliceFactor + card.dmaLatency;
    }
    cost.alone = std::max(cost.memory, cost.engine + card.sliceExposure * cost.memory);
  } else {
    cost.alone = std::max(cost.engine, cost.memory);
  }
  cost.alone += static_cast<double>(kernel.starts - 1) * card.kernelOverhead;
  return cost;
}

}  // namespace pipescope::devices::gaudi
