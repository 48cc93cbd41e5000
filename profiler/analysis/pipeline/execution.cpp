#include "profiler/analysis/pipeline/execution.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "profiler/analysis/device_places.h"
#include "profiler/analysis/launches.h"
#include "profiler/analysis/pipeline/device_sums.h"
#include "profiler/analysis/pipeline/recorded/recorded_steps.h"
#include "profiler/analysis/rows_of_run.h"
#include "profiler/analysis/segment_use.h"
#include "profiler/analysis/steps_of_segments.h"

namespace pipescope::analysis {
namespace {

using model::StepKind;
using model::WaitCause;

using SumsByDevice = base::IdVector<model::DeviceId, DeviceSums>;

using UseBySegment = std::unordered_map<model::SegmentId, SegmentUse>;

/// Returns the sums that a placement of each segment of the executable adds, for the segments that `wanted`
/// accepts.
template <class Wanted>
Result<UseBySegment> usesOf(const model::ProfileSource& source, const Catalog& catalog,
                            model::ExecutableId executable, const Wanted& wanted, base::Progress& progress) {
  std::vector<SegmentFacts> segments;
  for (const model::Segment& segment : catalog.segments) {
    if (segment.executable == executable && wanted(segment.id))
      segments.push_back({segment.id, segment.pass, segment.lane, std::max(Ticks(0), segment.ticks)});
  }
  return segmentUses(source, segments, progress);
}

base::Status addRun(const model::ProfileSource& source, const Catalog& catalog, const model::Run& run,
                    const UseBySegment& uses, SumsByDevice& sums) {
  PIPESCOPE_TRY(forEachRowOfRun<model::Placement>(source, run, [&](const model::Placement& placement) {
    DeviceSums* device = sums.find(placement.device);
    const model::Segment* segment = catalog.segments.find(placement.segment);
    const auto use = uses.find(placement.segment);
    if (device != nullptr && segment != nullptr && use != uses.end())
      device->add(placement, *segment, use->second, catalog);
  }));
  PIPESCOPE_TRY(forEachRowOfRun<model::Transfer>(source, run, [&](const model::Transfer& transfer) {
    if (movesNothing(catalog, transfer)) return;
    for (const bool incoming : {false, true}) {
      const model::LaneId lane = incoming ? transfer.toLane : transfer.fromLane;
      if (DeviceSums* device = sums.find(catalog.deviceOf(lane)))
        device->add(transfer, incoming, catalog.roleOf(lane));
    }
  }));
  return forEachRowOfRun<model::Wait>(source, run, [&](const model::Wait& wait) {
    if (DeviceSums* device = sums.find(wait.device)) device->add(wait);
  });
}

base::Status placeRecorded(const model::ProfileSource& source, const Catalog& catalog, SumsByDevice& sums,
                           base::Progress& progress) {
  if (!catalog.measured()) return {};
  RecordedWork work(catalog);
  for (DeviceSums& device : sums) PIPESCOPE_TRY(addRecordedSteps(source, catalog, work, device, progress));
  return {};
}

/// Places everything and adds the stretches of segments that other lanes leave free. Reads the steps of these
/// segments.
base::Status placeAll(const model::ProfileSource& source, const Catalog& catalog, SumsByDevice& sums,
                      base::Progress& progress) {
  std::vector<std::pair<DeviceSums*, std::vector<DeviceSums::Stretch>>> cut;
  std::map<model::SegmentId, std::vector<model::Step>> steps;
  for (DeviceSums& device : sums) {
    cut.emplace_back(&device, device.place());
    for (const DeviceSums::Stretch& stretch : cut.back().second) steps[stretch.segment];
  }
  PIPESCOPE_TRY(
      forEachStepOf(source, steps, progress,
                    [](const model::Step& step, std::vector<model::Step>& list) { list.push_back(step); }));
  for (auto& [id, list] : steps) std::ranges::stable_sort(list, {}, &model::Step::offset);
  for (const auto& [device, stretches] : cut) {
    for (const DeviceSums::Stretch& stretch : stretches) {
      const model::Segment* segment = catalog.segments.find(stretch.segment);
      if (segment != nullptr)
        device->addKinds(
            exclusiveTicks(steps[stretch.segment], segment->pass, segment->ticks, stretch.from, stretch.to));
    }
  }
  return {};
}

/// Adds the bytes of those steps of slices which end within the run although the slices do not lie within it.
base::Status addCutSlices(const model::ProfileSource& source, const Catalog& catalog, SumsByDevice& sums,
                          base::Progress& progress) {
  struct Cut {
    DeviceSums* device;
    DeviceSums::CutSlices slices;
    std::vector<model::Step> ended;
  };
  std::map<model::SegmentId, Cut> cut;
  for (DeviceSums& device : sums)
    for (const DeviceSums::CutSlices& slices : device.cutSlices())
      cut[slices.segment] = {&device, slices, {}};
  PIPESCOPE_TRY(forEachStepOf(source, cut, progress, [](const model::Step& step, Cut& of) {
    const Ticks end = of.slices.start + step.offset + step.ticks;
    if (end > of.slices.from && end <= of.slices.to) of.ended.push_back(step);
  }));
  for (const auto& [id, of] : cut) {
    const model::Segment* segment = catalog.segments.find(id);
    if (segment != nullptr && !of.ended.empty())
      of.device->addSteps(segmentUse(of.ended, segment->pass, segment->lane, segment->ticks));
  }
  return {};
}

/// The sums of the devices in a run, or in a part of a recorded one, before they are finished.
Result<SumsByDevice> sumsOf(const model::ProfileSource& source, const Catalog& catalog, const model::Run& run,
                            const UseBySegment& uses, base::Progress& progress) {
  SumsByDevice sums;
  const auto counted = countedOf(catalog, run.executable);
  for (const model::Device& device : catalog.devices)
    sums.emplace_back(catalog, device, run, counted[device.id]);
  PIPESCOPE_TRY(addRun(source, catalog, run, uses, sums));
  PIPESCOPE_TRY(placeRecorded(source, catalog, sums, progress));
  PIPESCOPE_TRY(placeAll(source, catalog, sums, progress));
  PIPESCOPE_TRY(addCutSlices(source, catalog, sums, progress));
  return sums;
}

}  // namespace

Execution callTotals(const Catalog& catalog, model::ExecutableId executable) {
  Execution result;
  const model::Run* run = catalog.lastRunOf(executable);
  if (run == nullptr) return result;
  result.total = run->end - run->start;
  result.seconds = base::toSeconds(result.total, catalog.timebase({}));
  result.samples = run->samples;
  if (result.seconds > 0) result.samplesPerSecond = static_cast<double>(run->samples) / result.seconds;
  return result;
}

Result<Execution> execution(const model::ProfileSource& source, const Catalog& catalog,
                            model::ExecutableId executable) {
  Execution result = callTotals(catalog, executable);
  const model::Run* run = catalog.lastRunOf(executable);
  if (run == nullptr) return result;
  base::SilentProgress progress;
  const auto all = [](model::SegmentId) { return true; };
  PIPESCOPE_ASSIGN(const UseBySegment uses, usesOf(source, catalog, executable, all, progress));
  PIPESCOPE_ASSIGN(SumsByDevice sums, sumsOf(source, catalog, *run, uses, progress));
  const auto places = devicePlaces(catalog, executable);
  std::set<std::int32_t> left;
  model::DeviceId id(0);
  for (DeviceSums& device : sums) {
    const DevicePlace& place = places[id];
    ++id.value;
    if (place.rank > 0 && device.unused()) {
      ++result.ranksNotRecorded;
      continue;
    }
    if (place.replica > 0 && device.unused()) {
      left.insert(place.replica);
      continue;
    }
    result.devices.push_back(device.finish());
    result.devices.back().holdsStage = place.replica == 0 && !place.stages.empty();
  }
  result.replicasNotRecorded = static_cast<int>(left.size());
  return result;
}

Result<std::vector<DeviceTimes>> recordedTimes(const model::ProfileSource& source, const Catalog& catalog,
                                               const model::Run& run, Ticks from, Ticks to,
                                               base::Progress& progress) {
  model::Run part = run;
  part.start = std::max(run.start, from);
  part.end = std::max(part.start, std::min(run.end, to));
  std::unordered_set<model::SegmentId> placed;
  PIPESCOPE_TRY(forEachRowOfRun<model::Placement>(source, part, [&](const model::Placement& placement) {
    if (placement.start <= part.end && placement.end >= part.start) placed.insert(placement.segment);
  }));
  const auto within = [&placed](model::SegmentId id) { return placed.contains(id); };
  PIPESCOPE_ASSIGN(const UseBySegment uses, usesOf(source, catalog, run.executable, within, progress));
  PIPESCOPE_ASSIGN(SumsByDevice sums, sumsOf(source, catalog, part, uses, progress));
  std::vector<DeviceTimes> devices;
  for (DeviceSums& device : sums) {
    const DeviceExecution all = device.finish();
    devices.push_back({all.total, all.idle, all.byKind, all.streamIn, all.streamOut, all.globalIn,
                       all.globalOut, all.parallelEfficiency});
  }
  return devices;
}

TimeShares timeShares(const Execution& execution) {
  TimeShares shares;
  double whole = 0;
  for (const DeviceExecution& device : execution.devices) {
    if (!device.holdsStage) continue;
    // A moment counts once. Rows that overlap, or reach over the end of the call, get what the rows before
    // them left.
    Ticks left = device.total;
    const auto add = [&](double& share, Ticks ticks) {
      const Ticks part = std::clamp(ticks, Ticks(0), left);
      share += static_cast<double>(part.count);
      left -= part;
    };
    add(shares.compute, device.ofKind(StepKind::compute));
    add(shares.control, device.ofKind(StepKind::control));
    add(shares.stream, device.ofKind(StepKind::streamCopy));
    add(shares.memory, device.ofKind(StepKind::remoteCopy));
    add(shares.exchange, device.ofKind(StepKind::exchange) + device.ofKind(StepKind::sync));
    // The cause that a device waits for says more than a transfer that goes on meanwhile.
    add(shares.exchange,
        device.ofKind(StepKind::globalExchange) - device.transfersOutside + device.transfersAlone);
    for (const auto& [cause, ticks] : device.waits) {
      add(cause == WaitCause::host                                         ? shares.host
          : cause == WaitCause::exchange || cause == WaitCause::collective ? shares.exchange
                                                                           : shares.pipeline,
          ticks);
    }
    shares.unknown += static_cast<double>(left.count);
    whole += static_cast<double>(device.total.count);
  }
  if (whole <= 0) return {};
  for (double* share : {&shares.compute, &shares.control, &shares.exchange, &shares.stream, &shares.memory,
                        &shares.host, &shares.pipeline, &shares.unknown})
    *share /= whole;
  return shares;
}

}  // namespace pipescope::analysis
