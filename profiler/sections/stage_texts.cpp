#include "profiler/sections/stage_texts.h"

#include <fmt/format.h>

#include <algorithm>

#include "profiler/base/number_ranges.h"

namespace pipescope::sections {
namespace {

using analysis::StagesReport;

std::vector<int> limitingIndices(const StagesReport& report) {
  std::vector<int> found;
  for (const analysis::StageReport& stage : report.stages) {
    if (stage.limits) found.push_back(stage.index);
  }
  return found;
}

}  // namespace

std::string numberRanges(const std::vector<int>& numbers) {
  return base::numberRanges(numbers, " and ");
}

std::string stageNames(const std::vector<int>& stages, std::size_t all) {
  if (stages.empty()) return {};
  if (stages.size() == 1) return fmt::format("stage {}", stages.front());
  return stages.size() == all ? "all stages" : "stages " + numberRanges(stages);
}

std::string limitingStages(const StagesReport& report) {
  return stageNames(limitingIndices(report), report.stages.size());
}

std::string missingStagesText(const StagesReport& report) {
  if (report.missing.empty()) return {};
  return fmt::format(
      "The trace holds no passes of stage{} {} of replica 0, so the figures compare the other stages. Which "
      "stage "
      "limits the pipeline, the bubble and the lost times need all stages: import the traces of all ranks of "
      "a "
      "replica together.",
      report.missing.size() == 1 ? "" : "s", numberRanges(report.missing));
}

std::string slowReplicaText(const analysis::SlowReplica& slow) {
  return fmt::format(
      "These figures are of replica 0. In replica {}{} stage {} ({}) takes {:.2f} times as long: the section "
      "stragglers says what that costs.",
      slow.replica, slow.rank > 0 ? fmt::format(" on rank {} of its place", slow.rank) : "", slow.stage,
      slow.deviceName, slow.ratio);
}

std::vector<std::string> limitingRemarks(const StagesReport& report, const ShownTime& time) {
  const analysis::StageReport *slowest = report.slowest(), *limiting = report.limiting();
  if (slowest == nullptr || limiting == nullptr || report.stages.size() < 2) return {};
  if (report.schedule == model::ScheduleKind::oneAtATime)
    return {
        "A micro-batch passes through all stages before the next one starts, so each stage waits for all "
        "others."};
  const std::vector<int> found = limitingIndices(report);
  if (found.size() == report.stages.size() && report.slowReplica)
    return {"All stages of replica 0 take equally long (within 1 %)."};
  if (found.size() == report.stages.size())
    return {"All stages take equally long (within 1 %), so none of them holds the others up."};
  std::string names = limitingStages(report);
  if (found.size() > 1) {
    names[0] = 'S';
    return {names + " take equally long (within 1 %). The other stages wait for them."};
  }
  if (limiting->index == report.slowestStage || !report.microBatchesKnown) return {};
  return {fmt::format(
      "Stage {} computes longest, but stage {} takes longer with its host copies and exchange: {} instead of "
      "{} per micro-batch. The other stages wait for it.",
      slowest->index, limiting->index, timeText(limiting->occupied, time, TimeStyle::exact),
      timeText(slowest->occupied, time, TimeStyle::exact))};
}

SectionTable stageOperationTable(const StagesReport& r, int stage, const Words& words) {
  SectionTable table{"slowest_operations",
                     stage < 0 ? "What makes a stage slow" : fmt::format("What makes stage {} slow", stage),
                     words.per("micro-batch; share of the stage's time with copies and exchange"),
                     {},
                     {}};
  table.columns = {{"stage", "Stage", Format::index, "", false},  {"name", "Operation", Format::plain, ""},
                   {"kind", "Type", Format::plain, ""},           {"pass", "Pass", Format::plain, ""},
                   {"cycles", words.cycles(), Format::ticks, ""}, {"share", "Share", Format::fraction, ""}};
  if (stage < 0 || static_cast<std::size_t>(stage) >= r.stages.size()) return table;
  for (const analysis::StageOperation& op : r.stages[static_cast<std::size_t>(stage)].operations) {
    table.rows.push_back(
        {static_cast<std::int64_t>(stage), op.name, op.kind, op.pass, op.ticksPerMicroBatch, op.share});
  }
  return table;
}

}  // namespace pipescope::sections
