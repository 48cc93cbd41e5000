#include "engine/devices/ipu/products/operand_shares.h"

#include <algorithm>

#include "engine/ops/core/rounding.h"

namespace pipescope::devices::ipu {

using ops::ceilDiv;
namespace {

/// The shares of an operand whose pieces have `grains(tile)` grains for `users` tiles each.
template <class F>
TileRuns operandShares(const ContractionPlan& plan, F grains, std::int64_t users, std::int64_t grainBytes,
                       std::int64_t leastBytes, bool lastFirst) {
  TileRuns found;
  std::int64_t first = 0;
  for (const ConvShare& share : sharesOf(plan)) {
    const DividedPiece part =
        dividePiece(std::max<std::int64_t>(1, grains(share.tile)), users, grainBytes, leastBytes);
    const std::int64_t holding = ceilDiv(share.tiles * part.holders, users),
                       larger = share.tiles * part.larger / users;
    const std::int64_t from = lastFirst ? first + share.tiles - holding : first;
    if (larger > 0) found.push_back({from, larger, (part.least + 1) * grainBytes});
    if (larger < holding) found.push_back({from + larger, holding - larger, part.least * grainBytes});
    first += share.tiles;
  }
  return found;
}

}  // namespace

DividedPiece dividePiece(std::int64_t grains, std::int64_t users, std::int64_t grainBytes,
                         std::int64_t leastBytes) {
  const std::int64_t parts = std::max<std::int64_t>(1, grains / ceilDiv(leastBytes, grainBytes));
  const std::int64_t most = std::max(ceilDiv(grains, users), ceilDiv(grains, parts));
  const std::int64_t holders = ceilDiv(grains, most);
  return {holders, grains / holders, grains % holders};
}

TileRuns inputShares(const ContractionPlan& plan) {
  constexpr std::int64_t kLeastBytes = 128;
  const ConvForm& form = plan.form;
  const auto grains = [&](const ConvTile& tile) {
    std::int64_t count = tile.groups * tile.batch * tile.inGroups;
    for (std::size_t i = 0; i < form.shape.dimCount; ++i) {
      const ConvDim& dim = form.shape.dims[i];
      // Elements that windows share with their neighbours lie with one of them.
      count *=
          std::min(dim.inputsFor(tile.output[i], tile.kernel[i]), ceilDiv(dim.input, plan.split.output[i]));
    }
    return count;
  };
  return operandShares(plan, grains, plan.split.outChannels,
                       form.vertex.inGroup * form.vertex.groupGroup * form.shape.operandBytes(), kLeastBytes,
                       false);
}

TileRuns weightShares(const ContractionPlan& plan) {
  constexpr std::int64_t kLeastBytes = 256;
  const ConvForm& form = plan.form;
  const auto grains = [&](const ConvTile& tile) {
    std::int64_t count = tile.groups * tile.inGroups * tile.outGroups;
    for (std::size_t i = 0; i < form.shape.dimCount; ++i) count *= tile.kernel[i];
    return count;
  };
  return operandShares(
      plan, grains, plan.split.positions(),
      form.vertex.inGroup * form.vertex.outGroup * form.vertex.groupGroup * form.shape.operandBytes(),
      kLeastBytes, true);
}

}  // namespace pipescope::devices::ipu
