// Products and convolutions run on the MME. Its blocks read operands again from SRAM. Operands that do not
// fit into SRAM come from HBM again. (Geometries, padding and unaligned rows: HabanaAI/Intel_Gaudi3_Software,
// C.)
#include <fmt/format.h>

#include <algorithm>

#include "engine/devices/gaudi/kernel.h"
#include "engine/devices/gaudi/mme_geometry.h"
#include "engine/devices/hbm_card/product.h"

namespace pipescope::devices::gaudi {
namespace {

using hbm_card::extents;
using ops::Contraction;

/// The factor for rows that begin anywhere in a cache line: every access but the first touches two lines.
double unaligned(const Card& card, std::int64_t rowBytes) {
  if (rowBytes % card.cacheLine == 0) return 1;
  const auto lines = static_cast<double>((rowBytes + card.cacheLine - 1) / card.cacheLine);
  return (1 + 2 * (lines - 1)) / lines;
}

/// The bytes that the groups of engines read together of operands of `left` and `right` bytes if each keeps
/// what it needs in its own part of SRAM: its share of one operand, and the other one whole. -1: that does
/// not fit. (C: cache_requirements_analyzer.cpp keeps what a group reads more than once in its part, and what
/// it reads once in the cache of all. X: the fastest products of the published sweep of Gaudi3 are those
/// whose operands fit like that.)
std::int64_t groupReads(const Card& card, const Geometry& geometry, std::int64_t batch, double left,
                        double right) {
  if (card.sramGroups == 1) return -1;
  const auto groups = static_cast<double>(card.sramGroups), together = static_cast<double>(geometry.together);
  const double sharing = std::max(1.0, groups / together), products = std::max(1.0, together / groups);
  const double held = std::min(left / sharing + right, left + right / sharing) / static_cast<double>(batch);
  if (held * products > static_cast<double>(card.onChipBytes) / groups) return -1;
  return static_cast<std::int64_t>(std::min(left + sharing * right, sharing * left + right));
}

}  // namespace

base::Result<EngineKernel> lower(const Contraction& work, const GaudiLoweringContext& context) {
  const Card& card = context.card;
  PIPESCOPE_TRY(
      checkElements("number of channels", {work.groups, work.inputChannels, work.outputChannels}, context));
  PIPESCOPE_TRY(checkElements("number of positions", {work.batch, extents(work.field)}, context));
  PIPESCOPE_TRY(checkElements("number of outputs", {work.batch, extents(work.output)}, context));
  PIPESCOPE_TRY(checkElements("size of the kernel", work.kernel, context));
  PIPESCOPE_TRY(checkComputes(work.type, context));
  if (card.macs(work.type) == 0) {
    return base::badInput(
        fmt::format("{}: the MME of {} does not multiply {}; use --precision bfloat16 or float32.",
                    context.what, card.name, toString(work.type)));
  }
  const hbm_card::Product whole = hbm_card::productOf(work);
  const MmeProduct product{whole.m, whole.n, whole.k, whole.batch, work.type, whole.groups};
  const Geometry geometry = chooseGeometry(card, product);
  const hbm_card::Operands operands = hbm_card::operandsOf(work);
  EngineKernel kernel;
  kernel.engine = Engine::matrix;
  kernel.name = work.kernel.size() > 1 ? "Convolve" : product.batch > 1 ? "BatchGemm" : "Gemm";
  kernel.product = {.convolution = work.kernel.size() > 1, .batched = product.batch > 1, .phase = work.phase};
  kernel.units = card.engines;
  kernel.arithmetic = static_cast<double>(geometry.cycles) / card.mmeSustainedHz;
  const double size = static_cast<double>(graph::sizeOf(work.type));
  const double left = operands.left * unaligned(card, product.k * static_cast<std::int64_t>(size)),
               right = operands.right * unaligned(card, product.n * static_cast<std::int64_t>(size));
  kernel.onChipBytes =
      static_cast<std::int64_t>(operandFetches(card, geometry, left, right) - operands.left - operands.right);
  kernel.groupBytes = groupReads(card, geometry, product.batch, operands.left, operands.right);
  // Half of SRAM holds either a slice of one operand at full depth, and the other operand comes once for each
  // slice; or a float32 slice of the result that sums slices of the depth, and both operands come once for
  // each slice. (X: the other half takes in the slices that come next: both sides
  // are double-buffered, docs.habana.ai.)
  const double held = static_cast<double>(card.onChipBytes) / 2, batch = static_cast<double>(product.batch);
  const auto slices = [&](double bytes) { return std::max(1.0, std::ceil(bytes / batch / held)); };
  const double sums = operands.result / size * static_cast<double>(sizeof(float));
  kernel.againBytes = static_cast<std::int64_t>(
      std::min({(slices(operands.left) - 1) * operands.right, (slices(operands.right) - 1) * operands.left,
                (slices(sums) - 1) * std::min(operands.left, operands.right)}));
  return kernel;
}

}  // namespace pipescope::devices::gaudi
