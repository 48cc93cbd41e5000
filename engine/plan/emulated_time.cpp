#include "engine/plan/emulated_time.h"

#include <algorithm>
#include <map>

#include "engine/emulate/emulator.h"
#include "engine/schedules/schedule_kind.h"
#include "profiler/record/memory_profile.h"

namespace pipescope::plan {
namespace {

/// The segments of a device without what they consist of. Times depend on nothing else.
devices::LoweredDevice lengthsOf(const devices::LoweredDevice& device) {
  devices::LoweredDevice lengths;
  lengths.device = device.device;
  for (const devices::LoweredPass& pass : device.passes) {
    devices::LoweredPass& own = lengths.passes.emplace_back();
    own.stage = pass.stage;
    own.pass = pass.pass;
    for (const devices::LoweredSegment& segment : pass.segments)
      own.segments.push_back({{}, segment.lane, segment.ticks, {}, segment.pass, segment.after});
  }
  return lengths;
}

/// Stretches of time: [start, end) in ticks.
using Spans = std::vector<std::pair<std::int64_t, std::int64_t>>;

/// The union of the spans, ascending.
Spans joined(Spans spans) {
  std::ranges::sort(spans);
  Spans result;
  for (const auto& [start, end] : spans) {
    if (!result.empty() && start <= result.back().second) {
      result.back().second = std::max(result.back().second, end);
    } else if (end > start) {
      result.emplace_back(start, end);
    }
  }
  return result;
}

std::int64_t unionLength(const Spans& spans) {
  std::int64_t length = 0;
  for (const auto& [start, end] : joined(spans)) length += end - start;
  return length;
}

/// Collects when stages and transfers keep the devices of the first replica busy in one call.
class BusyTimes : public record::Sink {
 public:
  explicit BusyTimes(model::RunId run) : run_(run) {}
  base::Status commit(const model::RowSet& rows) override {
    for (const model::Placement& row : rows.of<model::Placement>()) {
      if (row.replica != 0 || row.run != run_) continue;
      const std::pair<std::int64_t, std::int64_t> span(row.start.count, row.end.count);
      working_[row.device].push_back(span);
      // Loads and stores of remote buffers around the update belong to the update.
      const bool aside = row.pass == model::Pass::update || row.pass == model::Pass::sync ||
                         row.pass == model::Pass::collective ||
                         (row.pass == model::Pass::remote && row.microBatch < 0);
      if (row.stage >= 0 && !aside) ofStage_[row.stage].push_back(span);
    }
    for (const model::Transfer& row : rows.of<model::Transfer>()) {
      if (row.run != run_) continue;
      for (const model::LaneId lane : {row.fromLane, row.toLane})
        transfers_[lane].emplace_back(row.start.count, row.end.count);
    }
    return {};
  }
  base::Status finish(model::ProfileState, const std::string&) override { return {}; }

  std::int64_t ofStage(int stage) const {
    const auto spans = ofStage_.find(stage);
    return spans == ofStage_.end() ? 0 : unionLength(spans->second);
  }

  /// The time in which transfers over the lanes keep their device from computing.
  std::int64_t exchangeAlone(model::DeviceId device, const std::map<model::LaneRole, model::LaneId>& lanes) {
    Spans transfers;
    for (const auto& [role, lane] : lanes) {
      const Spans& own = transfers_[lane];
      transfers.insert(transfers.end(), own.begin(), own.end());
    }
    const Spans& working = working_[device];
    Spans all = transfers;
    all.insert(all.end(), working.begin(), working.end());
    return unionLength(all) - unionLength(working);
  }

 private:
  model::RunId run_;
  std::map<int, Spans> ofStage_;
  std::map<model::DeviceId, Spans> working_;
  std::map<model::LaneId, Spans> transfers_;
};

/// The call whose figures a profile of many calls shows. If the host prepares samples at a limited rate, it
/// has none ready when the first call begins, so that only the second call is like all further ones.
model::RunId settledCall(const emulate::ExecutableFacts& facts) {
  return model::RunId(facts.host.samplesPerSecond(facts.replicas) > 0 ? 1 : 0);
}

/// Emulates calls of an executable up to the settled one, which it returns. Placements and transfers of all
/// of them go to `sink` if the level says so.
model::Run callInto(record::Sink& sink, const compile::Compilation& compilation, std::size_t executable,
                    emulate::RecordLevel level, emulate::SystemIds& ids) {
  record::Recorder recorder(sink);
  constexpr auto kOff = emulate::RecordLevel::off;
  ids = emulate::recordSystem(recorder, *compilation.system, compilation.devicesWithStages());
  const compile::CompiledExecutable& compiled = compilation.executables[executable];
  std::vector<devices::LoweredDevice> lengths;
  for (const devices::LoweredDevice& device : compiled.lowered) lengths.push_back(lengthsOf(device));
  const emulate::EmulatedExecutable emulated = emulate::recordExecutable(
      recorder, *compilation.system, ids, compiled.plan, lengths, compiled.order, compiled.facts, kOff);
  emulate::Emulator emulator(recorder, *compilation.system, ids, level);
  model::Run run = emulator.call(emulated, {});
  while (run.id != settledCall(compiled.facts)) run = emulator.call(emulated, {});
  (void)recorder.commit();  // These sinks refuse nothing.
  return run;
}

}  // namespace

EmulatedCall emulatedCall(const compile::Compilation& compilation, std::size_t executable) {
  const compile::CompiledExecutable& compiled = compilation.executables[executable];
  BusyTimes busy(settledCall(compiled.facts));
  emulate::SystemIds ids;
  const model::Run run = callInto(busy, compilation, executable, emulate::RecordLevel::stages, ids);
  const auto microBatches = std::max<std::int64_t>(
      1, compiled.facts.iterations * std::max<std::int64_t>(1, compiled.facts.microBatches));
  const bool barriers =
      schedules::scheduleKindOf(compiled.order.progression) != model::ScheduleKind::dependency;
  std::map<int, std::int64_t> stagesOn;
  for (const compile::StagePlan& stage : compiled.plan.stages) ++stagesOn[stage.device];
  EmulatedCall call{run.end - run.start, {}};
  for (std::size_t s = 0; s < compiled.plan.stages.size(); ++s) {
    const int device = compiled.plan.stages[s].device;
    const auto d = static_cast<std::size_t>(device);
    StageOccupancy& stage = call.stages.emplace_back();
    if (barriers)
      stage.exchange = busy.exchangeAlone(ids.devices[d], ids.lanes[d]) / (microBatches * stagesOn[device]);
    stage.occupied = busy.ofStage(static_cast<int>(s)) / microBatches + stage.exchange;
  }
  return call;
}

base::Ticks callTicks(const compile::Compilation& compilation, std::size_t executable) {
  record::MemoryProfile nowhere;
  emulate::SystemIds ids;
  const model::Run run = callInto(nowhere, compilation, executable, emulate::RecordLevel::off, ids);
  return run.end - run.start;
}

base::Result<base::Ticks> callTicks(const compile::FixedRun& run) {
  PIPESCOPE_ASSIGN(const compile::Compilation compilation, compile::compileFixed(run));
  return callTicks(compilation);
}

}  // namespace pipescope::plan
