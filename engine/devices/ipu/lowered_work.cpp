#include "engine/devices/ipu/lowered_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/ops/core/rounding.h"

namespace pipescope::devices::ipu {

using ops::ceilDiv;

std::size_t LoweredWork::compute(const Chip& chip, const std::string& name, TileRuns cycles,
                                 LoweredVertex vertices) {
  if (spreadOf(cycles).active == 0) return steps.size();
  ProgramStep step;
  step.program = "OnTileExecute";
  step.name = name;
  step.cycles = std::move(cycles);
  step.sync = chip.computeSetOverhead;
  step.vertices.push_back(std::move(vertices));
  steps.push_back(std::move(step));
  return steps.size() - 1;
}

void LoweredWork::exchange(const Chip& chip, const std::string& name, const TileRuns& received, double factor,
                           std::int64_t pieceBytes, const TileRuns& sent) {
  const Spread spread = spreadOf(received);
  if (spread.active == 0) return;
  // Part of the time before an exchange's first byte is a sync, as long as that of a compute set.
  const std::int64_t sync = std::min(chip.computeSetOverhead, chip.exchangeOverhead),
                     setUp = chip.exchangeOverhead - sync;
  const auto cyclesFor = [](std::int64_t bytes, double rate) {
    return static_cast<std::int64_t>(std::ceil(static_cast<double>(bytes) / rate));
  };
  // No tile is done before the busiest sender has sent what it waits for.
  const std::int64_t sending = cyclesFor(spreadOf(sent).most, chip.exchangeBytesPerCycle);
  ProgramStep step;
  step.kind = model::StepKind::exchange;
  step.program = "DoExchange";
  step.name = name;
  step.cycles = transformed(received, [&](std::int64_t bytes) {
    const std::int64_t receiving = cyclesFor(bytes, chip.exchangeBytesPerCycle * factor);
    return bytes <= 0 ? 0 : setUp + std::max(receiving, sending);
  });
  step.sync = sync;
  step.bytesIn = spread.total;
  step.bytesOut = sent.empty() ? spread.total : spreadOf(sent).total;
  const std::int64_t pieces =
      std::min(chip.tiles, ceilDiv(spread.most, std::max(chip.vectorBytes, pieceBytes)));
  step.messages = pieces + (step.bytesOut < step.bytesIn ? 1 : pieces);
  steps.push_back(std::move(step));
}

void LoweredWork::hold(const std::string& name, TileRuns bytes, std::size_t first, std::size_t end,
                       Temporary::Place place) {
  if (first < end && spreadOf(bytes).active > 0)
    temporaries.push_back({name, std::move(bytes), place, first, end});
}

void LoweredWork::append(LoweredWork next) {
  const std::size_t before = steps.size();
  for (ProgramStep& step : next.steps) steps.push_back(std::move(step));
  for (Temporary& temporary : next.temporaries) {
    temporary.first += before;
    temporary.end += before;
    temporaries.push_back(std::move(temporary));
  }
}

void LoweredWork::moveTo(const Chip& chip, std::int64_t firstTile) {
  if (firstTile == 0) return;
  for (ProgramStep& step : steps) {
    step.cycles = rotated(step.cycles, firstTile, chip.tiles);
    step.senders = rotated(step.senders, firstTile, chip.tiles);
  }
  for (Temporary& temporary : temporaries) temporary.bytes = rotated(temporary.bytes, firstTile, chip.tiles);
  resultRuns = rotated(resultRuns, firstTile, chip.tiles);
}

std::int64_t LoweredWork::cycles() const {
  std::int64_t sum = 0;
  for (const ProgramStep& step : steps) sum += step.sync + spreadOf(step.cycles).most;
  return sum;
}

base::Result<LoweredWork> lowerWork(const ops::WorkItem& item, const IpuLoweringContext& context) {
  return std::visit([&](const auto& work) { return lower(work, context); }, item);
}

base::Status checkComputes(ElementType type, const IpuLoweringContext& context) {
  if (type != ElementType::float64 && type != ElementType::bfloat16) return {};
  return base::badInput(fmt::format("{}: an IPU does not compute in {}; use float16 or float32.",
                                    context.what, graph::toString(type)));
}

base::Status checkElements(const std::string& extent, const std::vector<std::int64_t>& factors,
                           const IpuLoweringContext& context) {
  constexpr std::int64_t largest = std::int64_t{1} << 40;
  std::int64_t product = 1;
  for (const std::int64_t factor : factors) {
    if (factor < 1)
      return base::badInput(
          fmt::format("{}: {} is {}, but must be at least 1.", context.what, extent, factor));
    if (__builtin_mul_overflow(product, factor, &product) || product > largest) {
      return base::badInput(
          fmt::format("{}: {} is above 2^40; no device holds that, use a smaller micro-batch or layer.",
                      context.what, extent));
    }
  }
  return {};
}

}  // namespace pipescope::devices::ipu
