#pragma once
// Gaudis as cards with HBM: what Work costs on their engines, and which kernels form bundles.
#include <string>
#include <vector>

#include "engine/devices/gaudi/kernel.h"
#include "engine/devices/hbm_card/card_model.h"

namespace pipescope::devices::gaudi {

using hbm_card::KernelCost;
using hbm_card::KernelList;
using hbm_card::Traffic;

class GaudiModel final : public hbm_card::CardModel {
 public:
  /// Ignores `context.what`. The card and its fabric must outlive the model.
  explicit GaudiModel(const GaudiLoweringContext& context) : context_(context) {}

  const hbm_card::CardFigures& figures() const override { return context_.card; }
  const hbm_card::ProgramNames& programs() const override;
  base::Result<EngineKernel> lowerWork(const ops::WorkItem& item, const std::string& what) const override;
  double copySeconds(std::int64_t elements, ElementType type) const override;
  double peakFlops(ElementType type) const override;
  std::vector<std::int32_t> bundlesOf(const compile::StageIr& stage, const KernelList& list) const override;
  KernelCost costOf(const EngineKernel& kernel, const Traffic& traffic) const override;

 private:
  GaudiLoweringContext context_;
};

}  // namespace pipescope::devices::gaudi
