#include "engine/devices/gaudi/recipe.h"

#include <algorithm>
#include <array>

namespace pipescope::devices::gaudi {
namespace {

/// Seconds on the engine, of reading and writing SRAM, of HBM, and of the kernel alone.
struct Cost {
  double engine = 0, sramReads = 0, sramWrites = 0, memory = 0, alone = 0;
};

/// Seconds of SRAM for `bytes`, of which an engine finds `near` in the part of its own group.
double sramSeconds(std::int64_t bytes, std::int64_t near, double rate, double sharedRate) {
  const auto far = static_cast<double>(std::clamp<std::int64_t>(bytes - near, 0, bytes));
  return std::max(static_cast<double>(bytes) / rate, far / sharedRate);
}

Cost costOf(const Card& card, const EngineKernel& kernel, const Traffic& traffic) {
  Cost cost;
  if (kernel.engine == Engine::host || kernel.engine == Engine::nic) {
    cost.engine = cost.alone = kernel.arithmetic;
    return cost;
  }
  const double spread = kernel.spread;
  // SRAM reads and writes at the same time.
  const std::int64_t fetched = traffic.moved - traffic.stored;
  const std::int64_t near = kernel.groupBytes >= 0 ? fetched - kernel.groupBytes : traffic.handedIn;
  cost.sramReads =
      spread * sramSeconds(fetched, near, card.sramBytesPerSecond, card.sharedSramBytesPerSecond);
  cost.sramWrites = spread * sramSeconds(traffic.stored, traffic.handedOut, card.sramWriteBytesPerSecond,
                                         card.sharedSramWriteBytesPerSecond);
  cost.memory = static_cast<double>(traffic.read + traffic.written) * spread / card.hbmEffective;
  cost.engine = std::max({kernel.arithmetic, cost.sramReads, cost.sramWrites});
  if (kernel.engine == Engine::tpc) {
    // Loads and stores each have an instruction slot.
    const auto most = static_cast<double>(std::max(traffic.loaded, traffic.stored)) * spread;
    cost.engine = std::max(cost.engine, accessSeconds(card, most));
    cost.alone = std::max(cost.engine, cost.memory);
  } else if (kernel.engine == Engine::mme) {
    if (card.operandsByDma && cost.memory > 0) {
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

}  // namespace

void placeKernels(const Card& card, const KernelList& list, const std::vector<Traffic>& traffic,
                  std::size_t end, double start, std::vector<PlacedKernel>& placed) {
  std::array<double, 5> engineFree{};
  engineFree.fill(start);
  double memoryFree = start, sramReadsFree = start, sramWritesFree = start;
  std::vector<double> allEnd{start};  // end of them all, by the number of kernels that are placed here
  const std::size_t first = placed.size();
  for (std::size_t k = placed.size(); k < end; ++k) {
    const EngineKernel& kernel = list.kernels[k].kernel;
    const Cost cost = costOf(card, kernel, traffic[k]);
    // SRAM holds the slices of a bundle, and those of the kernel before it, which leave.
    const std::size_t before = std::max(traffic[k].bundleBegin, first + 1) - first - 1;
    double ready = start, earliestEnd = 0;
    for (const Feed& feed : traffic[k].feeds) {
      const PlacedKernel maker = placed[feed.kernel];
      const auto slices = static_cast<double>(feed.slices);
      ready = std::max(ready, maker.start + (maker.end - maker.start) / slices);
      earliestEnd = std::max(earliestEnd, maker.end + cost.alone / slices);
    }
    PlacedKernel& at = placed.emplace_back();
    double& free = engineFree[static_cast<std::size_t>(kernel.engine)];
    at.start = std::max({free, allEnd[before], ready + card.kernelOverhead});
    at.end = std::max(at.start + cost.alone, earliestEnd);
    if (cost.memory > 0) {
      const bool slices = kernel.engine == Engine::mme && card.operandsByDma;
      double& dmaFree = engineFree[static_cast<std::size_t>(Engine::dma)];
      const double from = std::max({at.start, memoryFree, slices ? dmaFree : at.start});
      memoryFree = from + cost.memory;
      at.end = std::max(at.end, memoryFree);
      if (slices) at.sliceStart = from, at.sliceEnd = dmaFree = memoryFree;
    }
    if (cost.sramReads > 0) {
      sramReadsFree = std::max(at.start, sramReadsFree) + cost.sramReads;
      at.end = std::max(at.end, sramReadsFree);
    }
    if (cost.sramWrites > 0) {
      sramWritesFree = std::max(at.start, sramWritesFree) + cost.sramWrites;
      at.end = std::max(at.end, sramWritesFree);
    }
    free = at.end;
    allEnd.push_back(std::max(allEnd.back(), at.end));
  }
}

}  // namespace pipescope::devices::gaudi
