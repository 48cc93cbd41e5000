// Reads a recorded call: the order, what the host does, and then work_reader and flow_reader for the rest.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <sstream>

#include "profiler/analysis/iterations.h"
#include "profiler/analysis/rows_of_run.h"
#include "profiler/base/number_text.h"
#include "profiler/replay/flow_reader.h"
#include "profiler/replay/work_reader.h"

namespace pipescope::replay {
namespace {

constexpr std::size_t kMostPlacements = 20'000'000;

double numberOf(const analysis::Catalog& catalog, const Recording& recording, const char* name) {
  const std::string text = catalog.property(fmt::format("replay.{}.{}", recording.executable.id.value, name));
  return base::numberOf(text).value_or(0);
}

constexpr const char* kLacksStages =
    "The trace does not hold the passes of all stages, so its pipeline cannot be replayed: import the traces "
    "of "
    "all ranks of a replica together.";

base::Status addStages(const analysis::Catalog& catalog, Recording& recording) {
  for (const model::Stage* stage : catalog.stagesOf(recording.executable.id))
    recording.stages.push_back(*stage);
  std::map<model::DeviceId, int> placeOf;
  for (std::size_t s = 0; s < recording.stages.size(); ++s) {
    const model::Stage& stage = recording.stages[s];
    if (stage.index != static_cast<int>(s) || catalog.device(stage.device) == nullptr)
      return base::badInput(recording.measured ? kLacksStages
                                               : "The profile's stages are not numbered from 0 without gap, "
                                                 "so its pipeline cannot be replayed.");
    // Devices of an emulated replica are numbered from 0. A trace may name only some of a system.
    const int next = static_cast<int>(placeOf.size());
    const int place = placeOf.emplace(stage.device, next).first->second;
    const auto stride = catalog.placeStrideOf(recording.executable.id);
    recording.placeOfStage.push_back(recording.measured ? place
                                                        : static_cast<int>(stage.device.value / stride));
  }
  if (recording.measured && !recording.stages.empty() &&
      static_cast<std::int64_t>(recording.stages.size()) < recording.executable.stages)
    return base::badInput(kLacksStages);
  if (recording.stages.empty())
    return base::badInput("The profile has no stages, so there is no pipeline to replay.");
  return {};
}

/// The largest number of recorded micro-batches after which their costs begin anew.
void addRepetition(const analysis::Catalog& catalog, Recording& recording) {
  std::istringstream words(
      catalog.property(fmt::format("replay.{}.micro_batch_costs", recording.executable.id.value)));
  const std::vector<double> costs{std::istream_iterator<double>(words), {}};
  if (costs.empty()) return;
  const auto count = static_cast<std::size_t>(recording.recordedMicroBatches);
  const auto costOf = [&](std::size_t i) { return costs[i % costs.size()]; };
  for (std::size_t period = 1; period <= count; ++period) {
    bool repeats = true;
    for (std::size_t i = period; i < count && repeats; ++i) repeats = costOf(i) == costOf(i - period);
    if (!repeats) continue;
    recording.repeatedMicroBatches = static_cast<int>(count / period * period);
    return;
  }
}

/// The host's part of an emulated call; see Emulator::call.
void addHost(const analysis::Catalog& catalog, const CallRows& rows, Recording& recording) {
  clock::Host& host = recording.host;
  const Ticks start = recording.run.start;
  for (const model::Wait& wait : rows.waits) {
    if (wait.cause == model::WaitCause::host && wait.iteration < 0)
      host.call = std::max(host.call, wait.end - start);
  }
  host.step = Ticks(static_cast<std::int64_t>(numberOf(catalog, recording, "host_step_ticks")));
  recording.hostTicksPerMicroBatch = numberOf(catalog, recording, "host_micro_batch_ticks");
  host.firstDelay = Ticks(0);
  host.readsResults = numberOf(catalog, recording, "host_reads_results") > 0;
  host.loaderTicks = numberOf(catalog, recording, "loader_ticks");
  host.networkTicks = numberOf(catalog, recording, "network_ticks");
  host.overlapsCopies = numberOf(catalog, recording, "copies_overlap") > 0;
  recording.syncTicks = Ticks(static_cast<std::int64_t>(numberOf(catalog, recording, "sync_ticks")));
  if (host.step.count > 0) {
    std::map<model::DeviceId, Ticks> delays;
    for (const model::Wait& wait : rows.waits) {
      if (wait.cause == model::WaitCause::host && wait.iteration == 0 && !wait.waitedFor.valid() &&
          wait.start == start + host.call)
        delays[wait.device] = wait.end - wait.start;
    }
    // All devices wait for the step; a single one may wait for its first samples instead.
    const std::size_t devices = recording.replicas.size() * recording.orders.front().places.size();
    if (delays.size() == devices)
      host.firstDelay = std::min_element(delays.begin(), delays.end(), [](const auto& a, const auto& b) {
                          return a.second < b.second;
                        })->second;
  }
  if (host.ticksPerMicroBatch() <= 0) return;
  // The host begins at the latest with the call. A copy never starts before its micro-batch is prepared, and
  // it starts just then if devices wait.
  host.loaderStart = start;
  for (const model::Placement& p : rows.placements) {
    if (p.pass != model::Pass::hostIn || p.microBatch < 0 || p.iteration < 0) continue;
    const double count =
        static_cast<double>(p.iteration) * recording.microBatches + static_cast<double>(p.microBatch) + 1;
    const Ticks latest =
        p.start - Ticks(static_cast<std::int64_t>(std::ceil(count * host.ticksPerMicroBatch())));
    host.loaderStart = std::min(host.loaderStart, latest);
  }
}

base::Status addOrder(const Schedules* schedules, Recording& recording) {
  if (recording.measured) return {};  // the work reader has taken it from the placements
  if (schedules == nullptr || !schedules->make)
    return base::badInput("This program knows no schedules, so it cannot replay an emulated profile.");
  const OrderRequest request{recording.executable.schedule, recording.stageCount(), recording.microBatches,
                             recording.training, recording.placeOfStage};
  base::Result<clock::Order> made = schedules->make(request);
  if (!made.ok())
    return base::badInput(fmt::format("The recorded schedule {} cannot be replayed: {}",
                                      recording.executable.schedule, made.error().message));
  recording.orders = {std::move(made).value()};
  return {};
}

/// A recorded call may hold anything before and behind its iterations, which no step takes.
Ticks timeOutside(const analysis::Catalog& catalog, const std::vector<model::Placement>& placements,
                  const model::Run& run) {
  if (catalog.iterationsFillCalls()) return {};
  Ticks outside = run.end - run.start;
  for (const analysis::IterationSpan& span : analysis::iterationsOf(catalog, placements, run))
    outside -= span.length();
  return outside;
}

base::Result<CallRows> readRows(const model::ProfileSource& source, const model::Run& run) {
  CallRows rows;
  PIPESCOPE_ASSIGN(rows.placements, analysis::rowsOfRun<model::Placement>(source, run));
  if (rows.placements.size() > kMostPlacements)
    return base::badInput(
        fmt::format("The call has {} placements; a replay takes at most {}. Record a call with fewer "
                    "iterations or micro-batches.",
                    base::groupedText(std::ssize(rows.placements)), base::groupedText(kMostPlacements)));
  PIPESCOPE_ASSIGN(rows.transfers, analysis::rowsOfRun<model::Transfer>(source, run));
  PIPESCOPE_ASSIGN(rows.waits, analysis::rowsOfRun<model::Wait>(source, run));
  return rows;
}

/// Checks that the order names only work that exists.
base::Status checkOrder(const Recording& recording) {
  for (const clock::Order& order : recording.orders) {
    if (order.places.empty() || order.pipes < 1 || recording.stageCount() % order.pipes != 0)
      return base::badInput("The order of the schedule does not fit the recorded stages.");
    for (const std::vector<clock::Task>& tasks : order.places) {
      for (const clock::Task& task : tasks) {
        if (task.stage < 0 || task.stage >= recording.stageCount() || task.microBatch < 0 ||
            task.microBatch >= recording.microBatches)
          return base::badInput("The order of the schedule names stages that the recording does not have.");
      }
    }
  }
  for (const int device : recording.placeOfStage) {
    if (device < 0 || device >= recording.placeCount())
      return base::badInput("The order of the schedule has fewer devices than the recording.");
  }
  return {};
}

}  // namespace

std::string emulateInstead(const Recording& recording, const std::string& flags) {
  return recording.measured ? "." : fmt::format(": emulate it with pipescope run {} instead.", flags);
}

base::Result<Timeline> replayCall(const Recording& recording, Detail detail) {
  Timeline timeline;
  clock::RunOptions options;
  options.start = timeline.start = recording.run.start;
  if (detail == Detail::rows) options.sink = &timeline;
  PIPESCOPE_ASSIGN(const clock::CallTimes times, clock::runCall(recording, recording.host, options));
  timeline.end = times.end + recording.tail;
  return timeline;
}

base::Result<Recording> readRecording(const model::ProfileSource& source, const analysis::Catalog& catalog,
                                      model::ExecutableId id, const Schedules* schedules) {
  Recording recording;
  const model::Executable* executable = catalog.executable(id);
  if (executable == nullptr) return base::badInput("The profile has no such executable.");
  recording.executable = *executable;
  recording.training = executable->kind == model::ExecutableKind::training;
  const model::Run* run = catalog.lastRunOf(id);
  if (run == nullptr)
    return base::badInput(
        fmt::format("The profile holds no call of {}, so there is nothing to replay.", executable->name));
  recording.run = *run;
  recording.measured = catalog.measured();
  recording.blockingSends = numberOf(catalog, recording, "blocking_sends") > 0;
  recording.sharesHost = numberOf(catalog, recording, "shared_compute") > 0;
  recording.ticksPerSecond = catalog.timebase({}).ticksPerSecond;
  recording.tickMeaning = catalog.target.tickMeaning;
  PIPESCOPE_TRY(addStages(catalog, recording));
  PIPESCOPE_ASSIGN(const CallRows rows, readRows(source, *run));
  recording.outside = timeOutside(catalog, rows.placements, *run);
  PIPESCOPE_ASSIGN(const clock::RecordedStarts starts, addWork(catalog, rows, recording));
  PIPESCOPE_TRY(addOrder(schedules, recording));
  PIPESCOPE_TRY(checkOrder(recording));
  addFlows(catalog, rows, recording);
  if (!recording.measured) addHost(catalog, rows, recording);
  addRepetition(catalog, recording);
  if (!recording.measured) {
    PIPESCOPE_ASSIGN(const Timeline times, replayCall(recording, Detail::length));
    if (times.end == recording.run.end) return recording;
  }
  recording.explained = recording.measured;
  PIPESCOPE_ASSIGN(const clock::CallTimes times,
                   clock::learnLags(recording, recording.host, starts, recording.run.start));
  recording.tail = recording.run.end - times.end;
  return recording;
}

}  // namespace pipescope::replay
