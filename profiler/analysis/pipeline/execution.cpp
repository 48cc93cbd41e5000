#include "profiler/analysis/pipeline/execution.h"

#include <algorithm>
#include <set>

#include "profiler/analysis/device_places.h"
#include "profiler/analysis/pass_kind.h"
#include "profiler/analysis/run_rows.h"

namespace pipescope::analysis {
namespace {

using Intervals = std::vector<std::pair<Ticks, Ticks>>;

/// Length of the union; sorts in place.
Ticks executionUnionLength(Intervals& intervals) {
  std::sort(intervals.begin(), intervals.end());
  Ticks length, reached;
  for (const auto& [start, end] : intervals) {
    const Ticks from = std::max(start, reached);
    if (end > from) length += end - from;
    reached = std::max(reached, end);
  }
  return length;
}

/// What one placement of a segment contributes.
struct SegmentSums {
  std::map<model::StepKind, Ticks> byKind;
  std::map<model::LaneRole, Ticks> byLane;
  Bytes streamIn, streamOut, exchangeIn, exchangeOut, globalIn, globalOut;
  double balanceSum = 0, computeMean = 0;
  std::int64_t computeSteps = 0;
};

model::LaneRole executionRoleOf(const Catalog& catalog, model::LaneId lane) {
  const auto index = static_cast<std::size_t>(lane.value);
  return lane.valid() && index < catalog.lanes.size() ? catalog.lanes[index].role : model::LaneRole::compute;
}

void addStep(SegmentSums& sums, const Catalog& catalog, const model::Step& step) {
  sums.byKind[step.kind] += step.ticks;
  sums.byLane[executionRoleOf(catalog, step.lane)] += step.ticks;
  if (step.kind == model::StepKind::streamCopy) {
    sums.streamIn += step.bytesIn;
    sums.streamOut += step.bytesOut;
  } else if (step.kind == model::StepKind::exchange) {
    sums.exchangeIn += step.bytesIn;
    sums.exchangeOut += step.bytesOut;
  } else if (step.kind == model::StepKind::globalExchange) {  // a collective's own part
    sums.globalIn += step.bytesIn;
    sums.globalOut += step.bytesOut;
  } else if (step.kind == model::StepKind::compute && step.maxTicks.count > 0) {
    sums.balanceSum += step.meanTicks / static_cast<double>(step.maxTicks.count);
    sums.computeMean += step.meanTicks;
    ++sums.computeSteps;
  }
}

Result<std::vector<SegmentSums>> sumSegments(const model::ProfileSource& source, const Catalog& catalog) {
  std::vector<SegmentSums> sums(catalog.segments.size());
  std::vector<bool> hasSteps(sums.size(), false);
  PIPESCOPE_ASSIGN(const model::Rows<model::Step> steps, source.rows<model::Step>());
  for (const model::Step& step : *steps) {
    const auto index = static_cast<std::size_t>(step.segment.value);
    if (!step.segment.valid() || index >= sums.size()) continue;
    addStep(sums[index], catalog, step);
    hasSteps[index] = true;
  }
  for (std::size_t i = 0; i < sums.size(); ++i) {
    if (hasSteps[i]) continue;
    sums[i].byKind[kindOfPass(catalog.segments[i].pass)] += catalog.segments[i].ticks;
    sums[i].byLane[executionRoleOf(catalog, catalog.segments[i].lane)] += catalog.segments[i].ticks;
  }
  return sums;
}

class ExecutionDeviceSums {
 public:
  ExecutionDeviceSums(const Catalog& catalog, const model::Device& device, const model::Run& run) {
    result.index = static_cast<int>(device.id.value);
    result.name = device.name;
    result.kind = device.kind;
    result.clockHz = device.ticksPerSecond;
    result.total = base::convertRoundUp(run.end - run.start, catalog.timebase({}),
                                        base::Timebase{device.ticksPerSecond});
  }

  void add(const model::Placement& placement, const SegmentSums& sums) {
    busy_.push_back({placement.start, placement.end});
    for (const auto& [kind, ticks] : sums.byKind) result.byKind[kind] += ticks;
    for (const auto& [role, ticks] : sums.byLane) result.byLane[role] += ticks;
    result.streamIn += sums.streamIn;
    result.streamOut += sums.streamOut;
    result.exchangeIn += sums.exchangeIn;
    result.exchangeOut += sums.exchangeOut;
    result.globalIn += sums.globalIn;
    result.globalOut += sums.globalOut;
    balanceSum_ += sums.balanceSum;
    computeMean_ += sums.computeMean;
    computeSteps_ += sums.computeSteps;
  }
  void add(const model::Transfer& transfer, bool incoming, model::LaneRole role) {
    busy_.push_back({transfer.start, transfer.end});
    transfers_.push_back({transfer.start, transfer.end});
    byRole_[role].push_back({transfer.start, transfer.end});
    (incoming ? result.globalIn : result.globalOut) += transfer.bytes;
  }
  bool nothing() const { return busy_.empty(); }
  void finish() {
    const Ticks global = executionUnionLength(transfers_);
    if (global.count > 0) result.byKind[model::StepKind::globalExchange] += global;
    for (auto& [role, intervals] : byRole_) {
      if (const Ticks length = executionUnionLength(intervals); length.count > 0)
        result.byLane[role] += length;
    }
    result.idle = result.total - executionUnionLength(busy_);
    if (computeSteps_ > 0) result.tileBalance = balanceSum_ / static_cast<double>(computeSteps_);
    if (result.total.count > 0)
      result.parallelEfficiency = computeMean_ / static_cast<double>(result.total.count);
  }

  DeviceExecution result;

 private:
  Intervals busy_, transfers_;
  std::map<model::LaneRole, Intervals> byRole_;
  double balanceSum_ = 0, computeMean_ = 0;
  std::int64_t computeSteps_ = 0;
};

std::size_t deviceOfLane(const Catalog& catalog, model::LaneId lane) {
  const auto index = static_cast<std::size_t>(lane.value);
  if (!lane.valid() || index >= catalog.lanes.size()) return catalog.devices.size();
  return static_cast<std::size_t>(catalog.lanes[index].device.value);
}

}  // namespace

Result<Execution> execution(const model::ProfileSource& source, const Catalog& catalog,
                            model::ExecutableId executable) {
  Execution result;
  const model::Run* run = catalog.lastRunOf(executable);
  if (run == nullptr) return result;
  PIPESCOPE_ASSIGN(const std::vector<SegmentSums> segments, sumSegments(source, catalog));
  PIPESCOPE_ASSIGN(const std::vector<model::Placement> placements, rowsOfRun<model::Placement>(source, *run));
  PIPESCOPE_ASSIGN(const std::vector<model::Transfer> transfers, rowsOfRun<model::Transfer>(source, *run));
  std::vector<ExecutionDeviceSums> sums;
  for (const model::Device& device : catalog.devices) sums.emplace_back(catalog, device, *run);
  for (const model::Placement& placement : placements) {
    const auto device = static_cast<std::size_t>(placement.device.value),
               segment = static_cast<std::size_t>(placement.segment.value);
    if (device < sums.size() && segment < segments.size()) sums[device].add(placement, segments[segment]);
  }
  for (const model::Transfer& transfer : transfers) {
    const std::size_t from = deviceOfLane(catalog, transfer.fromLane),
                      to = deviceOfLane(catalog, transfer.toLane);
    if (from < sums.size()) sums[from].add(transfer, false, executionRoleOf(catalog, transfer.fromLane));
    if (to < sums.size()) sums[to].add(transfer, true, executionRoleOf(catalog, transfer.toLane));
  }
  const std::vector<DevicePlace> places = devicePlaces(catalog, executable);
  std::set<std::int32_t> left;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    if (places[i].replica > 0 && sums[i].nothing()) {
      left.insert(places[i].replica);
      continue;
    }
    sums[i].finish();
    result.devices.push_back(sums[i].result);
  }
  result.replicasNotRecorded = static_cast<int>(left.size());
  result.total = run->end - run->start;
  result.seconds = base::toSeconds(result.total, catalog.timebase({}));
  result.samples = run->samples;
  if (result.seconds > 0) result.samplesPerSecond = static_cast<double>(run->samples) / result.seconds;
  return result;
}

}  // namespace pipescope::analysis
