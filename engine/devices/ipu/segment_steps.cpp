#include "engine/devices/ipu/segment_steps.h"

#include <algorithm>
#include <utility>

namespace pipescope::devices::ipu {

using model::Pass;

namespace {

void appendStep(LoweredSegment& segment, LoweredStep step, int op) {
  if (step.ticks.count <= 0) return;
  step.op = op;
  step.offset = segment.ticks;
  segment.ticks += step.ticks;
  segment.steps.push_back(std::move(step));
}

model::LaneRole laneOfStep(model::StepKind kind) {
  if (kind == model::StepKind::compute) return model::LaneRole::compute;
  if (kind == model::StepKind::streamCopy || kind == model::StepKind::remoteCopy)
    return model::LaneRole::host;
  return model::LaneRole::exchange;
}

LoweredStep syncBefore(const ProgramStep& step, const std::string& path, std::int64_t repeat,
                       std::int64_t tiles) {
  LoweredStep sync;
  sync.kind = model::StepKind::sync;
  sync.lane = model::LaneRole::exchange;
  sync.program = "Sync";
  sync.name = path + "/Sync";
  sync.ticks = sync.minTicks = sync.maxTicks = Ticks(step.sync * repeat);
  sync.activeUnits = tiles;
  sync.meanTicks = static_cast<double>(sync.ticks.count);
  sync.units = {{0, tiles, sync.ticks}};
  return sync;
}

}  // namespace

std::optional<Pass> ownPass(Pass pass, const compile::IrOperator& op) {
  const auto all = [&](auto wanted) {
    return !op.work.empty() && std::all_of(op.work.begin(), op.work.end(), wanted);
  };
  if (all([](const ops::Work& work) {
        const auto* copy = std::get_if<ops::HostCopy>(&work.item);
        return copy && copy->remote;
      }))
    return Pass::remote;
  const auto isPlanned = [](const ops::Work& work) {
    const auto* collective = std::get_if<ops::Collective>(&work.item);
    return collective && !collective->ofModel;
  };
  if (pass != Pass::collective && all(isPlanned)) return Pass::collective;
  if (op.again) return Pass::recompute;
  return std::nullopt;
}

model::LaneRole laneOfPass(Pass pass) {
  if (pass == Pass::hostIn || pass == Pass::hostOut || pass == Pass::remote) return model::LaneRole::host;
  return pass == Pass::collective ? model::LaneRole::exchange : model::LaneRole::compute;
}

void cutSegment(LoweredPass& pass, LoweredSegment& segment, std::optional<Pass> own) {
  if (segment.pass == own) return;
  const std::string stage = segment.name.substr(0, segment.name.find('/') + 1);
  const Pass kind = own.value_or(pass.pass);
  LoweredSegment next;
  next.name = stage + model::toString(kind);
  next.lane = laneOfPass(kind);
  next.pass = own;
  if (segment.ticks.count > 0) pass.segments.push_back(std::move(segment));
  segment = std::move(next);
}

void appendSteps(LoweredSegment& segment, const ProgramStep& step, const std::string& path, int op,
                 std::int64_t repeat, std::int64_t tiles) {
  if (step.sync > 0) appendStep(segment, syncBefore(step, path, repeat, tiles), op);
  const Spread spread = spreadOf(step.cycles);
  LoweredStep lowered;
  lowered.kind = step.kind;
  lowered.lane = laneOfStep(step.kind);
  lowered.program = step.program;
  lowered.name = path + "/" + step.name;
  lowered.ticks = lowered.maxTicks = Ticks(spread.most * repeat);
  lowered.minTicks = Ticks(spread.least * repeat);
  lowered.activeUnits = spread.active;
  lowered.meanTicks = static_cast<double>(spread.total * repeat) / static_cast<double>(tiles);
  for (const TileRun& run : step.cycles) {
    if (run.value > 0) lowered.units.push_back({run.first, run.count, Ticks(run.value * repeat)});
  }
  lowered.bytesIn = Bytes(step.bytesIn * repeat);
  lowered.bytesOut = Bytes(step.bytesOut * repeat);
  appendStep(segment, lowered, op);
}

}  // namespace pipescope::devices::ipu
