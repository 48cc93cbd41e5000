#include "engine/devices/ipu/products/plan_bound.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/ops/core/rounding.h"

namespace pipescope::devices::ipu {

using ops::ceilDiv;
namespace {

using Method = ConvVertex::Method;

/// Loops of the supervisor that a pass over one group of channels and kernel element does not pay. The loops
/// of every vertex over groups and kernel rows together take fewer cycles.
constexpr std::int64_t kLoopCycles = 60;

struct Operands {
  double inputs = 1, weights = 1, partials = 1;  ///< bytes
};

Operands operandsOf(const ConvForm& form, const ConvTile& tile) {
  const auto groups = static_cast<double>(tile.groups * form.vertex.groupGroup);
  const auto in = static_cast<double>(tile.inGroups * form.vertex.inGroup),
             out = static_cast<double>(tile.outGroups * form.vertex.outGroup);
  const auto batch = static_cast<double>(tile.batch),
             element = static_cast<double>(form.shape.operandBytes());
  Operands bytes{groups * batch * in * element, groups * in * out * element,
                 groups * batch * out * static_cast<double>(form.shape.partialBytes())};
  for (std::size_t i = 0; i < form.shape.dimCount; ++i) {
    bytes.inputs *= static_cast<double>(form.shape.dims[i].inputsFor(tile.output[i], tile.kernel[i]));
    bytes.weights *= static_cast<double>(tile.kernel[i]);
    bytes.partials *= static_cast<double>(tile.output[i]);
  }
  return bytes;
}

/// A lower bound for the bytes of inputs, weights and partial sums. A cut of batch or field makes inputs and
/// partial sums smaller, one of output channels weights and partial sums, one of input channels or kernel
/// inputs and weights: two of the three each. So their product shrinks at most by the square of the parts,
/// and their sum is least when all three are equal. Only cuts of groups make all three smaller. No cut makes
/// one of them smaller than by its own parts.
std::int64_t memoryBound(const Operands& bytes, std::int64_t parts, bool groups) {
  const auto cut = static_cast<double>(parts);
  const double product = bytes.inputs * bytes.weights * bytes.partials / (cut * cut * (groups ? cut : 1));
  return static_cast<std::int64_t>(
      std::max(3 * std::cbrt(product), (bytes.inputs + bytes.weights + bytes.partials) / cut));
}

std::int64_t exchangeBound(const Chip& chip, const Operands& bytes, const ConvSplit& split,
                           std::int64_t parts) {
  const auto moved = [&](double whole, std::int64_t owners) {
    return whole / static_cast<double>(parts) * (1 - 1.0 / static_cast<double>(owners));
  };
  return static_cast<std::int64_t>((moved(bytes.inputs, split.outChannels) / chip.exchangePairFactor +
                                    moved(bytes.weights, split.positions())) /
                                   chip.exchangeBytesPerCycle);
}

}  // namespace

PassOverheads::Key PassOverheads::keyOf(const ConvForm& form) {
  const ConvVertex& vertex = form.vertex;
  const ConvShape& shape = form.shape;
  Key key{static_cast<std::int64_t>(vertex.method),
          vertex.groupGroup,
          vertex.inGroup,
          vertex.outGroup,
          vertex.convUnits,
          vertex.filterHeight,
          static_cast<std::int64_t>(shape.half) + static_cast<std::int64_t>(shape.quarter),
          shape.halfPartials,
          static_cast<std::int64_t>(shape.dimCount) * 2 + (shape.batch == 1)};
  for (std::size_t i = 0; i < shape.dimCount; ++i) {
    key[9 + 2 * i] = shape.dims[i].stride;
    key[10 + 2 * i] = shape.dims[i].inputDilation;
  }
  return key;
}

PlanBound::PlanBound(const Chip& chip, const ConvForm& form, WorkerCache& cache, PassOverheads& overheads)
    : chip_(chip), form_(form), cache_(cache) {
  std::int64_t steps = 1;
  if (form.vertex.method != Method::slic) {
    for (std::size_t i = 0; i < form.shape.dimCount; ++i) steps *= form.shape.dims[i].outputStep();
  }
  perMultiplyAdd_ = static_cast<double>(form.vertex.groupGroup * form.vertex.inGroup * form.vertex.outGroup) /
                    static_cast<double>(steps * peakMultiplyAdds(chip, form.shape, form.vertex));
  arrangement_ = arrangementBound(chip, form);
  perPass_ = overheads.get(PassOverheads::keyOf(form), [&] { return leastPerPass(steps); });
}

double PlanBound::leastPerPass(std::int64_t steps) const {
  const Method method = form_.vertex.method;
  if (method != Method::amp && method != Method::horizontalMac) return 0;
  // Cycles grow at the rate of the peak from three positions for each worker on; below that, they grow by at
  // most the cost of one more position.
  const std::int64_t positions = 3 * chip_.workers;
  const double perPosition = perMultiplyAdd_ * static_cast<double>(steps);
  double least = std::numeric_limits<double>::max();
  // Two rows exclude the vertex for 1×1 kernels.
  for (const std::int64_t rows : {1, 2}) {
    for (std::int64_t width = 1; width <= positions; ++width) {
      ConvTile tile;
      tile.batch = rows;
      if (const std::size_t dims = form_.shape.dimCount; dims > 0)
        tile.output[dims - 1] = width * form_.shape.dims[dims - 1].outputStep();
      const double beyond =
          static_cast<double>(passCycles(tile).further) - perPosition * static_cast<double>(rows * width);
      least = std::min(least, beyond);
    }
  }
  return std::max(0.0, least);
}

std::int64_t PlanBound::passes(const ConvTile& tile) const {
  std::int64_t passes =
      tile.groups * tile.inGroups * tile.outGroups * ceilDiv(tile.kernel[0], form_.vertex.filterHeight);
  for (std::size_t i = 1; i < form_.shape.dimCount; ++i) passes *= tile.kernel[i];
  return passes;
}

PlanBound::Passes PlanBound::passCycles(const ConvTile& tile) const {
  const Method method = form_.vertex.method;
  if (method != Method::amp && method != Method::horizontalMac) return {};
  ConvTile one = tile;
  one.groups = one.inGroups = one.outGroups = 1;
  one.kernel = {1, 1, 1};
  ConvTile two = one;
  two.inGroups = 2;
  const std::int64_t first = convVertexCycles(chip_, form_.shape, form_.vertex, one, cache_);
  const std::int64_t further =
      convVertexCycles(chip_, form_.shape, form_.vertex, two, cache_) - first - kLoopCycles;
  // The kernel elements of a multiply-accumulate vertex share loops; a pass over channels does not.
  return {method == Method::amp ? first : further, further};
}

std::int64_t PlanBound::peakCycles(const ConvTile& tile, std::int64_t parts) const {
  double products = static_cast<double>(tile.groups * tile.batch * tile.inGroups * tile.outGroups);
  for (std::size_t i = 0; i < form_.shape.dimCount; ++i)
    products *= static_cast<double>(tile.output[i] * tile.kernel[i]);
  return static_cast<std::int64_t>(products * perMultiplyAdd_ / static_cast<double>(parts));
}

/// Operands that several tiles share must move, which takes an exchange.
std::int64_t PlanBound::startOf(const ConvSplit& split) const {
  return split.outChannels > 1 || split.positions() > 1 ? chip_.exchangeOverhead : 0;
}

PlanBound::Least PlanBound::furtherSplit(const ConvSplit& split, const ConvTile& tile, std::int64_t parts,
                                         std::int64_t limit) const {
  const auto perPass =
      static_cast<std::int64_t>(static_cast<double>(passes(tile)) * perPass_ / static_cast<double>(parts));
  std::int64_t cycles =
      form_.serial * (peakCycles(tile, parts) + perPass + chip_.computeSetOverhead + startOf(split)) +
      arrangement_.cycles;
  if (cycles >= limit) return {cycles, 0};
  const Operands bytes = operandsOf(form_, tile);
  cycles += form_.serial * exchangeBound(chip_, bytes, split, parts);
  if (cycles >= limit) return {cycles, 0};
  return {cycles, std::max(arrangement_.memory, memoryBound(bytes, parts, tile.groups > 1))};
}

PlanBound::Least PlanBound::furtherSums(const ConvSplit& split, const ConvTile& tile, std::int64_t parts,
                                        Passes pass, std::int64_t limit) const {
  const std::int64_t count = passes(tile);
  // The largest share has a whole number of passes, however they are cut.
  const auto computing = [&](std::int64_t cut) {
    const std::int64_t further = (ceilDiv(count, cut) - 1) * std::max<std::int64_t>(0, pass.further);
    return std::max(peakCycles(tile, cut), pass.first + further);
  };
  const auto whole = [&](std::int64_t cycles) {
    return form_.serial * (cycles + chip_.computeSetOverhead + startOf(split)) + arrangement_.cycles;
  };
  const std::int64_t cutMost = computing(parts);
  if (const std::int64_t cycles = whole(cutMost); cycles >= limit) return {cycles, 0};
  const Operands bytes = operandsOf(form_, tile);
  // Sums are complete on their tile and may need a cast, or partial sums move and at least two are added.
  const std::int64_t partials = static_cast<std::int64_t>(bytes.partials);
  const std::int64_t added =
      partials / 2 / static_cast<std::int64_t>(std::ceil(chip_.exchangeBytesPerCycle)) +
      chip_.exchangeOverhead + leastReduceCycles(chip_) + chip_.computeSetOverhead;
  std::int64_t best = cutMost + exchangeBound(chip_, bytes, split, parts) + added;
  if (split.depth() == 1) {
    const bool cast = form_.shape.half != form_.shape.halfPartials;
    const std::int64_t uncut = computing(1) + exchangeBound(chip_, bytes, split, 1) +
                               (cast ? castVertexCycles(chip_, partials / form_.shape.partialBytes()) : 0);
    best = parts == 1 ? uncut : std::min(best, uncut);
  }
  const auto fixed =
      static_cast<std::int64_t>(bytes.partials + (bytes.inputs + bytes.weights) / static_cast<double>(parts));
  return {whole(best), std::max(arrangement_.memory, fixed)};
}

}  // namespace pipescope::devices::ipu
