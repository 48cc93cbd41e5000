#include "engine/devices/card/described_model.h"

#include <algorithm>

#include "engine/compile/block_pattern.h"

namespace pipescope::devices::card {

const hbm_card::ProgramNames& DescribedModel::programs() const {
  static constexpr hbm_card::ProgramNames names = {
      .kernels = {"MatrixKernel", "VectorKernel", "Copy", "Collective", "HostCopy"},
      .slices = "Slices",
      .launch = "LaunchGraph"};
  return names;
}

base::Result<EngineKernel> DescribedModel::lowerWork(const ops::WorkItem& item,
                                                     const std::string& what) const {
  CardContext context = context_;
  context.what = what;
  return card::lowerWork(item, context);
}

double DescribedModel::copySeconds(std::int64_t elements, ElementType) const {
  return vectorSeconds(context_.card, elements, 1);
}

std::vector<std::int32_t> DescribedModel::bundlesOf(const compile::StageIr&,
                                                    const hbm_card::KernelList& list) const {
  std::vector<std::int32_t> bundles;
  for (const hbm_card::ListedKernel& kernel : list.kernels) bundles.push_back(kernel.part);
  return bundles;
}

hbm_card::KernelCost DescribedModel::costOf(const EngineKernel& kernel,
                                            const hbm_card::Traffic& traffic) const {
  const Card& card = context_.card;
  hbm_card::KernelCost cost;
  cost.engine = cost.alone = kernel.arithmetic;
  if (kernel.engine == Engine::host || kernel.engine == Engine::network) return cost;
  const double spread = spreadOf(kernel, traffic);
  cost.memory = static_cast<double>(traffic.read + traffic.written) * spread / card.hbmEffective;
  const double onChip = static_cast<double>(traffic.moved) * spread / card.onChipBytesPerSecond;
  cost.engine = std::max(kernel.arithmetic, onChip);
  cost.alone =
      std::max(cost.engine, cost.memory) + static_cast<double>(kernel.starts - 1) * card.kernelOverhead;
  return cost;
}

bool DescribedModel::isRecorded(const hbm_card::ListedKernel& kernel) const {
  return std::ranges::any_of(context_.card.recorded, [&](const std::string& pattern) {
    return compile::namesBlock(pattern, kernel.path);
  });
}

double DescribedModel::issueSeconds(const hbm_card::KernelList& list, std::size_t index) const {
  const Card& card = context_.card;
  const hbm_card::ListedKernel& listed = list.kernels[index];
  if (isRecorded(listed)) return index > 0 && isRecorded(list.kernels[index - 1]) ? 0 : card.graphLaunch;
  const double first = listed.kernel.engine == Engine::matrix ? card.productIssue : card.kernelIssue;
  return first + static_cast<double>(listed.kernel.issues - 1) * card.kernelIssue;
}

}  // namespace pipescope::devices::card
