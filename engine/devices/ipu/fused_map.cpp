// Elementwise chains as one vertex, as popops::map makes them from an expression. Its inner loop does what
// the loops of the parts do, without the stores and loads between them, but the loop is generated instead of
// written in assembly.
#include <algorithm>

#include "engine/devices/ipu/code/code_sizes.h"
#include "engine/devices/ipu/fused_map.h"
#include "engine/devices/ipu/map_cost.h"
#include "engine/ops/core/rounding.h"

namespace pipescope::devices::ipu {

using ops::ceilDiv;
namespace {

/// Cycles of a store and a load between two parts, which the fused loop does not need (X), and the overhead
/// of a generated loop per vector (C: PopLibs' generic loops take 4 to 5).
constexpr std::int64_t kBetweenParts = 2, kGeneratedLoop = 5;
/// Bytes of code of each part beyond the first (X: 16 instructions).
constexpr std::int64_t kCodePerPart = 64;

std::int64_t chainCycles(const Chip& chip, const std::vector<ops::Map>& chain, std::int64_t elements) {
  constexpr std::int64_t kBlock = 4;  // elements: a whole number of steps of every part's loop
  const std::int64_t steps = ceilDiv(kBlock, chip.vectorWidth(chain.front().type));
  std::int64_t inner = kGeneratedLoop * steps, start = 17;
  for (const ops::Map& part : chain) {
    const bool first = &part == &chain.front();
    const std::int64_t own = mapPace(part.function, part.type, true).cyclesFor(kBlock);
    inner += first ? own : std::max(steps, own - kBetweenParts * steps);
    if (part.operands > 1) start = isHalf(part.type) ? 26 : 29;
  }
  return 11 + chip.workers * (start + ceilDiv(ceilDiv(elements, kBlock), chip.workers) * inner);
}

std::string joinedFunctions(const std::vector<ops::Map>& chain, const char* between) {
  std::string title;
  for (const ops::Map& part : chain)
    title += std::string(title.empty() ? "" : between) + toString(part.function);
  return title;
}

LoweredWork lowerChain(const std::vector<ops::Map>& chain, const Chip& chip) {
  const ops::Map& first = chain.front();
  const TileRuns elements = spreadEvenly(chip, first.elements, graph::sizeOf(first.type));
  std::int64_t edges = first.inPlace ? 1 : 2;
  for (const ops::Map& part : chain) edges += part.operands - 1;
  LoweredWork lowered;
  lowered.compute(
      chip, "Fused(" + joinedFunctions(chain, "+") + ")",
      transformed(elements, [&](std::int64_t n) { return chainCycles(chip, chain, n); }),
      {"popops::MapFused<" + joinedFunctions(chain, ",") + (isHalf(first.type) ? ",half>" : ",float>"),
       kCodeElementwise + kCodePerPart * static_cast<std::int64_t>(chain.size() - 1), stateOfEdges(edges),
       0});
  return lowered;
}

}  // namespace

base::Result<std::optional<FusedChain>> fuseChain(const compile::IrOperator& op, std::size_t first,
                                                  const IpuLoweringContext& context) {
  const auto chain = std::ranges::find(op.chains, first, &compile::IrOperator::Chain::first);
  if (chain == op.chains.end() || chain->count < 2) return std::optional<FusedChain>();
  std::vector<ops::Map> parts;
  std::int64_t apart = 0;
  for (std::size_t i = first; i < first + chain->count; ++i) {
    const auto* map = std::get_if<ops::Map>(&op.work[i].item);
    PIPESCOPE_CHECK(map && op.work[i].repeat == 1, op.name + ": a chain is of elementwise work");
    PIPESCOPE_ASSIGN(const LoweredWork alone, lowerWork(op.work[i].item, context));
    apart += alone.cycles();
    parts.push_back(*map);
  }
  LoweredWork fused = lowerChain(parts, context.chip);
  const std::int64_t saved = apart - fused.cycles();
  if (saved <= 0) return std::optional<FusedChain>();
  return std::optional(FusedChain{std::move(fused), chain->count, saved});
}

}  // namespace pipescope::devices::ipu
