#include "engine/devices/ipu/plan_bound.h"

#include <algorithm>

#include "engine/devices/ipu/rounding.h"

namespace pipescope::devices::ipu {
namespace {

using Method = ConvVertex::Method;

/// Loops of the supervisor that a pass over one group of channels and kernel element need not pay: every vertex' loops
/// over groups and kernel rows together take less.
constexpr std::int64_t kLoopCycles = 60;

struct Operands {
  double inputs = 1, weights = 1, partials = 1;  ///< bytes
};

Operands operandsOf(const ConvForm& form, const ConvTile& tile) {
  const auto groups = static_cast<double>(tile.groups * form.vertex.groupGroup);
  const auto in = static_cast<double>(tile.inGroups * form.vertex.inGroup), out = static_cast<double>(tile.outGroups * form.vertex.outGroup);
  const auto batch = static_cast<double>(tile.batch), element = static_cast<double>(form.shape.operandBytes());
  Operands bytes{groups * batch * in * element, groups * in * out * element, groups * batch * out * static_cast<double>(form.shape.partialBytes())};
  for (std::size_t i = 0; i < form.shape.dimCount; ++i) {
    bytes.inputs *= static_cast<double>(form.shape.dims[i].inputsFor(tile.output[i], tile.kernel[i]));
    bytes.weights *= static_cast<double>(tile.kernel[i]);
    bytes.partials *= static_cast<double>(tile.output[i]);
  }
  return bytes;
}

}  // namespace

PlanBound::PlanBound(const Chip& chip, const ConvForm& form) : chip_(&chip), form_(&form) {
  std::int64_t steps = 1;
  if (form.vertex.method != Method::slic) {
    for (std::size_t i = 0; i < form.shape.dimCount; ++i) steps *= form.shape.dims[i].outputStep();
  }
  perMultiplyAdd_ = static_cast<double>(form.vertex.groupGroup * form.vertex.inGroup * form.vertex.outGroup) /
                    static_cast<double>(steps * peakMultiplyAdds(chip, form.shape, form.vertex));
  arrangement_ = arrangementBound(chip, form);
}

std::int64_t PlanBound::computeBound(const ConvTile& tile, std::int64_t parts, bool resultsDone, WorkerCache& cache) const {
  double products = static_cast<double>(tile.groups * tile.batch * tile.inGroups * tile.outGroups);
  for (std::size_t i = 0; i < form_->shape.dimCount; ++i) products *= static_cast<double>(tile.output[i] * tile.kernel[i]);
  const auto peak = static_cast<std::int64_t>(products * perMultiplyAdd_ / static_cast<double>(parts));
  const Method method = form_->vertex.method;
  if (!resultsDone || (method != Method::amp && method != Method::horizontalMac)) return peak;
  // A pass over one input group, output group and kernel element, with positions as they are.
  ConvTile one = tile;
  one.groups = one.inGroups = one.outGroups = 1;
  one.kernel = {1, 1, 1};
  ConvTile two = one;
  two.inGroups = 2;
  const std::int64_t pass = convVertexCycles(*chip_, form_->shape, form_->vertex, two, cache) -
                            convVertexCycles(*chip_, form_->shape, form_->vertex, one, cache) - kLoopCycles;
  std::int64_t passes = tile.groups * tile.inGroups * tile.outGroups * ceilDiv(tile.kernel[0], form_->vertex.filterHeight);
  for (std::size_t i = 1; i < form_->shape.dimCount; ++i) passes *= tile.kernel[i];
  return std::max(peak, passes * pass / parts);
}

std::int64_t PlanBound::furtherSplit(const ConvSplit& split, std::int64_t parts, bool resultsDone, WorkerCache& cache) const {
  const ConvTile tile = largestTile(*form_, split);
  const Operands bytes = operandsOf(*form_, tile);
  const double share = 1.0 / static_cast<double>(parts);
  const auto moved = [&](double whole, std::int64_t owners) { return whole * share * (1 - 1.0 / static_cast<double>(owners)); };
  const double inputs = moved(bytes.inputs, split.outChannels) / (chip_->exchangeBytesPerCycle * chip_->exchangePairFactor);
  const double weights = moved(bytes.weights, split.positions()) / chip_->exchangeBytesPerCycle;
  const std::int64_t exchange = static_cast<std::int64_t>(inputs + weights);
  const std::int64_t overhead = chip_->computeSetOverhead + arrangement_;
  const std::int64_t cut = computeBound(tile, parts, resultsDone, cache) + exchange + overhead;
  if (!resultsDone || parts == 1) return form_->serial * cut;
  // Either the sums stay whole on their tile, or partial sums move and are added: at least two of each.
  const std::int64_t whole = computeBound(tile, 1, true, cache) + exchange + overhead;
  const auto reduce = static_cast<std::int64_t>(bytes.partials / 2 / chip_->exchangeBytesPerCycle) + chip_->exchangeOverhead + chip_->computeSetOverhead;
  return form_->serial * std::min(whole, cut + reduce);
}

}  // namespace pipescope::devices::ipu
