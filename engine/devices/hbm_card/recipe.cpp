#include "engine/devices/hbm_card/recipe.h"

#include <algorithm>
#include <array>

#include "engine/devices/hbm_card/card_model.h"

namespace pipescope::devices::hbm_card {

double CardModel::issueSeconds(const KernelList& list, std::size_t index) const {
  return figures().kernelIssue * static_cast<double>(list.kernels[index].kernel.issues);
}

void placeKernels(const CardModel& model, const KernelList& list, const std::vector<Traffic>& traffic,
                  std::size_t end, double start, std::vector<PlacedKernel>& placed) {
  const CardFigures& card = model.figures();
  std::array<double, kEngines> engineFree{};
  engineFree.fill(start);
  double memoryFree = start, onChipReadsFree = start, onChipWritesFree = start;
  // End of all of them that use on-chip memory, by the number of kernels that are placed here.
  std::vector<double> allEnd{start};
  const std::size_t first = placed.size();
  double issued = 0;  // when the host has issued the kernels before
  const auto issue = [&](std::size_t k) {
    const double seconds = model.issueSeconds(list, k);
    issued += seconds;
    if (list.kernels[k].kernel.hostReads && seconds > 0) issued = std::max(issued, placed[k].end);
  };
  for (std::size_t k = 0; k < first; ++k) issue(k);
  for (std::size_t k = placed.size(); k < end; ++k) {
    const EngineKernel& kernel = list.kernels[k].kernel;
    const KernelCost cost = model.costOf(kernel, traffic[k]);
    // On-chip memory holds the slices of a bundle, and those of the kernel before it, which leave.
    const std::size_t before = std::max(traffic[k].bundleBegin, first + 1) - first - 1;
    double ready = start, earliestEnd = 0;
    for (const Feed& feed : traffic[k].feeds) {
      if (list.kernels[feed.kernel].kernel.beside) continue;
      const PlacedKernel maker = placed[feed.kernel];
      const auto slices = static_cast<double>(feed.slices);
      ready = std::max(ready, maker.start + (maker.end - maker.start) / slices);
      earliestEnd = std::max(earliestEnd, maker.end + cost.alone / slices);
    }
    PlacedKernel& at = placed.emplace_back();
    double& free = engineFree[static_cast<std::size_t>(kernel.engine)];
    const bool aside = kernel.engine == Engine::network || kernel.engine == Engine::host;
    const bool streamed = card.oneStream && !aside;
    if (streamed) ready = std::max({ready, free, issued});
    at.start = std::max({free, allEnd[before], ready + card.kernelOverhead});
    at.end = std::max(at.start + cost.alone, earliestEnd);
    if (cost.memory > 0) {
      const bool slices = kernel.engine == Engine::matrix && card.operandsByCopy;
      double& copyFree = engineFree[static_cast<std::size_t>(Engine::copy)];
      const double from = std::max({at.start, memoryFree, slices ? copyFree : at.start});
      memoryFree = from + cost.memory;
      at.end = std::max(at.end, memoryFree);
      if (slices) at.sliceStart = from, at.sliceEnd = copyFree = memoryFree;
    }
    if (cost.onChipReads > 0) {
      onChipReadsFree = std::max(at.start, onChipReadsFree) + cost.onChipReads;
      at.end = std::max(at.end, onChipReadsFree);
    }
    if (cost.onChipWrites > 0) {
      onChipWritesFree = std::max(at.start, onChipWritesFree) + cost.onChipWrites;
      at.end = std::max(at.end, onChipWritesFree);
    }
    free = at.end;
    if (streamed) {
      for (const Engine engine : {Engine::matrix, Engine::vector, Engine::copy})
        engineFree[static_cast<std::size_t>(engine)] = at.end;
    }
    issue(k);
    // Tensors that cross links lie in HBM, so only kernels that read them wait for the transfer.
    allEnd.push_back(aside ? allEnd.back() : std::max(allEnd.back(), at.end));
  }
}

}  // namespace pipescope::devices::hbm_card
