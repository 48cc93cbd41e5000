#include "profiler/replay/what_if.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "profiler/analysis/memory/memory.h"
#include "profiler/analysis/searched_stages.h"
#include "profiler/base/byte_text.h"
#include "profiler/clock/ring_entries.h"
#include "profiler/record/memory_profile.h"
#include "profiler/replay/replay_rows.h"
#include "profiler/replay/replayed_memory.h"

namespace pipescope::replay {
namespace {

ReplayedCall callOf(const ChangeContext& context, const Recording& recording, Ticks length) {
  ReplayedCall call;
  call.microBatches = recording.microBatches;
  call.stepTicks = static_cast<double>((length - recording.outside).count) / recording.iterations;
  const auto replicas = static_cast<double>(std::max<std::int64_t>(recording.executable.replicas, 1));
  call.microBatchTicks = call.stepTicks / (recording.microBatches * replicas);
  const std::int64_t samples = samplesOf(recording, context.catalog);
  const double seconds = static_cast<double>(length.count) / static_cast<double>(recording.ticksPerSecond);
  if (samples > 0 && seconds > 0 && recording.tickMeaning != model::TickMeaning::cost)
    call.samplesPerSecond = static_cast<double>(samples) / seconds;
  return call;
}

/// The report of a call's stages. It is made from rows, so that its figures are those of `pipescope report`.
base::Result<analysis::StagesReport> stagesOf(const ChangeContext& context, const Recording& recording,
                                              const Timeline& timeline) {
  record::MemoryProfile profile;
  record::Recorder recorder(profile);
  PIPESCOPE_TRY(writeReplay(context, recording, timeline, {}, Extent::call, recorder));
  PIPESCOPE_TRY(recorder.finish(model::ProfileState::complete));
  PIPESCOPE_ASSIGN(const auto catalog, analysis::loadCatalog(profile));
  return analysis::stagesReport(profile, *catalog, recording.executable.id);
}

/// Makes the waits of a replay of a recorded trace comparable with the recorded ones. Their causes were found
/// in another way than those of the clock, so a change of the replayed waits is a change of the recorded
/// ones.
analysis::StagesReport withRecordedWaits(const analysis::StagesReport& recorded,
                                         const analysis::StagesReport& before, analysis::StagesReport after) {
  for (analysis::StageReport& stage : after.stages) {
    const auto of = [&](const analysis::StagesReport& report) {
      const auto found = std::ranges::find(report.stages, stage.index, &analysis::StageReport::index);
      return found == report.stages.end() ? std::map<model::WaitCause, double>() : found->waits;
    };
    const std::map<model::WaitCause, double> replayed = std::exchange(stage.waits, of(recorded));
    for (const auto& [cause, ticks] : replayed) stage.waits[cause] += ticks;
    for (const auto& [cause, ticks] : of(before)) stage.waits[cause] -= ticks;
    std::erase_if(stage.waits, [](const auto& wait) { return wait.second <= 0; });
  }
  return after;
}

/// Returns the effect of each change alone.
std::vector<WhatIfPart> partsOf(const ChangeContext& context, const Recording& recording,
                                const std::vector<Change>& changes, const ReplayedCall& before,
                                const ReplayedCall& after) {
  std::vector<WhatIfPart> parts;
  for (const Change& change : changes) {
    parts.push_back({spelledOut(recording, change).text(), std::nullopt});
    if (changes.size() == 1) {
      parts.back().ticks = after.stepTicks - before.stepTicks;
      break;
    }
    const base::Result<Changed> alone = applyChanges(context, recording, {change});
    if (!alone.ok()) continue;
    const base::Result<ReplayedCall> call = replayedCall(context, alone->recording);
    if (call.ok()) parts.back().ticks = call->stepTicks - before.stepTicks;
  }
  return parts;
}

/// Names the stages that the changes make too large. Stages that did not fit before need no remark each.
void addFitRemarks(const WhatIf& result, std::vector<std::string>& remarks) {
  for (const StageFit& fit : result.memory) {
    if (fit.fits.value_or(true) || fit.added.count <= 0) continue;
    const std::string why =
        fit.stashBefore == fit.stashAfter
            ? fmt::format("an entry of its stash would hold more for each of {} micro-batches",
                          std::max<std::int64_t>(fit.stashAfter.value_or(1), 1))
            : fmt::format("its stash would hold {} micro-batches instead of {}", fit.stashAfter.value_or(0),
                          fit.stashBefore.value_or(0));
    remarks.push_back(fmt::format("Stage {} would not fit: {}, which adds {} to its device.", fit.stage, why,
                                  base::byteText(fit.added.count)));
  }
}

/// Says that a run with changed options would divide the model anew, where the recorded stages were searched.
void addSplitRemark(const ChangeContext& context, const Recording& recording,
                    const std::vector<Change>& changes, std::vector<std::string>& remarks) {
  const std::int64_t count = analysis::searchedStages(context.catalog);
  const bool options = std::ranges::any_of(changes, [&](const Change& change) {
    const std::string key = spelledOut(recording, change).key;
    return key == kAccumulationKey || key == kScheduleKey || key == kRecomputeKey;
  });
  if (count > 0 && options)
    remarks.push_back(fmt::format(
        "The replay keeps the recorded stages. A run with execution.stages = {} divides the model "
        "anew, so that it may be faster or slower than the replay.",
        count));
}

}  // namespace

std::optional<WhatIf> recordedAnswer(const ChangeContext& context, model::ExecutableId executable,
                                     const analysis::StagesReport& stages) {
  const model::Executable* row = context.catalog.executable(executable);
  const model::Run* run = context.catalog.lastRunOf(executable);
  if (row == nullptr || run == nullptr || stages.stages.empty() || stages.lost.step <= 0 ||
      stages.microBatches < 1 || context.catalog.measured())
    return std::nullopt;
  Recording recording;
  recording.executable = *row;
  recording.training = row->kind == model::ExecutableKind::training;
  recording.run = *run;
  recording.ticksPerSecond = context.catalog.timebase({}).ticksPerSecond;
  recording.tickMeaning = context.catalog.target.tickMeaning;
  const Ticks length = run->end - run->start;
  recording.iterations = static_cast<int>(std::llround(static_cast<double>(length.count) / stages.lost.step));
  recording.microBatches = recording.recordedMicroBatches = static_cast<int>(stages.microBatches);
  if (recording.iterations < 1) return std::nullopt;
  WhatIf result;
  result.before = result.after = callOf(context, recording, length);
  result.stagesBefore = result.stagesAfter = stages;
  for (const analysis::StageReport& stage : stages.stages) {
    StageFit fit;
    fit.stage = stage.index;
    if (stage.memory)
      fit.fits = stage.memory->worstSpan <= stage.memory->worstUnitBytes + stage.memory->freeBytes;
    result.memory.push_back(fit);
  }
  return result;
}

base::Result<ReplayedCall> replayedCall(const ChangeContext& context, const Recording& recording) {
  PIPESCOPE_ASSIGN(const Timeline timeline, replayCall(recording, Detail::length));
  return callOf(context, recording, timeline.length());
}

base::Result<std::vector<StageFit>> fitOf(const ChangeContext& context, const Recording& before,
                                          const Changed& after) {
  std::vector<StageFit> fits;
  analysis::Memory read;
  if (context.memory == nullptr) {
    PIPESCOPE_ASSIGN(read, analysis::memory(context.source, context.catalog, before.executable.id));
  }
  const analysis::Memory& memory = context.memory != nullptr ? *context.memory : read;
  const std::vector<std::int64_t> stash = clock::ringEntries(after.recording.orders.front());
  const std::vector<std::int64_t> recorded = clock::ringEntries(before.orders.front());
  std::map<model::DeviceId, Bytes> added;  // all stages of a device share its memory
  for (const model::Stage& stage : before.stages) {
    const auto s = static_cast<std::size_t>(stage.index);
    StageFit fit;
    fit.stage = stage.index;
    if (s < recorded.size()) fit.stashBefore = recorded[s];
    if (s < stash.size()) fit.stashAfter = stash[s];
    if (fit.stashBefore && fit.stashAfter) {
      fit.added = stashAdded(stage, *fit.stashBefore, after.recording.stages[s], *fit.stashAfter);
    }
    added[stage.device] += fit.added;
    fits.push_back(fit);
  }
  for (StageFit& fit : fits) {
    const model::Stage& stage = before.stages[static_cast<std::size_t>(fit.stage)];
    const auto device = std::find_if(
        memory.devices.begin(), memory.devices.end(),
        [&](const analysis::DeviceMemory& one) { return one.index == static_cast<int>(stage.device.value); });
    const bool sized = stage.stashBytesPerEntry.count > 0 || fit.stashBefore == fit.stashAfter;
    if (device == memory.devices.end() || !sized || after.stashUnknown || !fit.stashAfter ||
        !fit.stashBefore || device->bytesPerUnit.count <= 0)
      continue;
    // A stash is spread over all units, so each takes an equal part of it.
    const std::int64_t units = std::max<std::int64_t>(device->units, 1);
    const std::int64_t perUnit = (added[stage.device].count + units - 1) / units;
    fit.fits = device->maxUnitIncludingGaps.count + perUnit <= device->bytesPerUnit.count;
    fit.added = added[stage.device];
  }
  return fits;
}

base::Result<WhatIf> whatIf(const ChangeContext& context, const Recording& recording,
                            const std::vector<Change>& changes) {
  WhatIf result;
  PIPESCOPE_ASSIGN(Timeline recorded, replayCall(recording));
  PIPESCOPE_ASSIGN(Changed changed, applyChanges(context, recording, changes));
  result.before = callOf(context, recording, recorded.length());
  PIPESCOPE_ASSIGN(result.stagesBefore, stagesOf(context, recording, recorded));
  if (changes.empty()) {
    result.timeline = std::move(recorded);
    result.stagesAfter = result.stagesBefore;
  } else {
    PIPESCOPE_ASSIGN(result.timeline, replayCall(changed.recording));
    PIPESCOPE_ASSIGN(result.stagesAfter, stagesOf(context, changed.recording, result.timeline));
  }
  if (recording.measured) {
    PIPESCOPE_ASSIGN(analysis::StagesReport stages,
                     analysis::stagesReport(context.source, context.catalog, recording.executable.id));
    result.stagesAfter = changes.empty()
                             ? stages
                             : withRecordedWaits(stages, result.stagesBefore, std::move(result.stagesAfter));
    result.stagesBefore = std::move(stages);
  }
  result.after = callOf(context, changed.recording, result.timeline.length());
  result.parts = partsOf(context, recording, changes, result.before, result.after);
  result.interaction = result.after.stepTicks - result.before.stepTicks;
  for (const WhatIfPart& part : result.parts) result.interaction -= part.ticks.value_or(0);
  PIPESCOPE_ASSIGN(result.memory, fitOf(context, recording, changed));
  result.remarks = std::move(changed.remarks);
  addFitRemarks(result, result.remarks);
  addSplitRemark(context, recording, changes, result.remarks);
  result.recording = std::move(changed.recording);
  return result;
}

}  // namespace pipescope::replay
