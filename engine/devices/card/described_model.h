#pragma once
#include <string>
#include <vector>

#include "engine/devices/card/kernel.h"
#include "engine/devices/hbm_card/card_model.h"

namespace pipescope::devices::card {

/// Costs of Work on a described card. The card and its network must outlive the model.
class DescribedModel final : public hbm_card::CardModel {
 public:
  explicit DescribedModel(const CardContext& context) : context_(context) {}

  const hbm_card::CardFigures& figures() const override { return context_.card; }
  const hbm_card::ProgramNames& programs() const override;
  base::Result<EngineKernel> lowerWork(const ops::WorkItem& item, const std::string& what) const override;
  double copySeconds(std::int64_t elements, ElementType type) const override;
  double peakFlops(ElementType type) const override { return context_.card.peak(type); }
  /// Only the kernels of a fused operator hand each other slices.
  std::vector<std::int32_t> bundlesOf(const compile::StageIr& stage,
                                      const hbm_card::KernelList& list) const override;
  hbm_card::KernelCost costOf(const EngineKernel& kernel, const hbm_card::Traffic& traffic) const override;
  /// The first kernel of those that are recorded together costs the launch of the graph, the others nothing.
  double issueSeconds(const hbm_card::KernelList& list, std::size_t index) const override;

 private:
  bool isRecorded(const hbm_card::ListedKernel& kernel) const;
  CardContext context_;
};

}  // namespace pipescope::devices::card
