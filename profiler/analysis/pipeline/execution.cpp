#include "profiler/analysis/pipeline/execution.h"

#include <set>

#include "profiler/analysis/device_places.h"
#include "profiler/analysis/intervals.h"
#include "profiler/analysis/pipeline/segment_use.h"
#include "profiler/analysis/rows_of_run.h"

namespace pipescope::analysis {
namespace {

/// Sums of one device over a run.
class DeviceSums {
 public:
  DeviceSums(const Catalog& catalog, const model::Device& device, const model::Run& run) {
    result_.index = static_cast<int>(device.id.value);
    result_.name = device.name;
    result_.kind = device.kind;
    result_.clockHz = device.ticksPerSecond;
    result_.total = base::convertRoundUp(run.end - run.start, catalog.timebase({}),
                                         base::Timebase{device.ticksPerSecond});
  }

  void add(const model::Placement& placement, const SegmentUse& use) {
    result_.placed = true;
    busy_.add(placement.start, placement.end);
    if (placement.pass == model::Pass::collective) {
      communication_.add(placement.start, placement.end);
    } else {
      result_.anyLane += use.anyLane;
    }
    for (const auto& [kind, ticks] : use.byKind) result_.byKind[kind] += ticks;
    for (const auto& [role, ticks] : use.byLane) result_.byLane[role] += ticks;
    result_.streamIn += use.streamIn;
    result_.streamOut += use.streamOut;
    result_.exchangeIn += use.exchangeIn;
    result_.exchangeOut += use.exchangeOut;
    result_.globalIn += use.globalIn;
    result_.globalOut += use.globalOut;
    balanceSum_ += use.balanceSum;
    computeMean_ += use.computeMean;
    computeSteps_ += use.computeSteps;
  }

  void add(const model::Transfer& transfer, bool incoming, model::LaneRole role) {
    busy_.add(transfer.start, transfer.end);
    communication_.add(transfer.start, transfer.end);
    transfers_.add(transfer.start, transfer.end);
    transfersByLane_[role].add(transfer.start, transfer.end);
    (incoming ? result_.globalIn : result_.globalOut) += transfer.bytes;
  }

  void add(const model::Wait& wait) {
    if (wait.cause == model::WaitCause::collective || wait.cause == model::WaitCause::exchange)
      result_.exposed += wait.end - wait.start;
  }

  /// True when nothing of the run happened on the device.
  bool unused() const { return busy_.empty(); }

  DeviceExecution finish() {
    if (const Ticks global = transfers_.unionLength(); global.count > 0)
      result_.byKind[model::StepKind::globalExchange] += global;
    for (const auto& [role, transfers] : transfersByLane_) {
      if (const Ticks length = transfers.unionLength(); length.count > 0) result_.byLane[role] += length;
    }
    result_.communicating = communication_.unionLength();
    result_.idle = result_.total - busy_.unionLength();
    if (computeSteps_ > 0) result_.tileBalance = balanceSum_ / static_cast<double>(computeSteps_);
    if (result_.total.count > 0)
      result_.parallelEfficiency = computeMean_ / static_cast<double>(result_.total.count);
    return result_;
  }

 private:
  DeviceExecution result_;
  Intervals busy_, communication_, transfers_;
  std::map<model::LaneRole, Intervals> transfersByLane_;
  double balanceSum_ = 0, computeMean_ = 0;
  std::int64_t computeSteps_ = 0;
};

using SumsByDevice = base::IdVector<model::DeviceId, DeviceSums>;

base::Status addRun(const model::ProfileSource& source, const Catalog& catalog, const model::Run& run,
                    SumsByDevice& sums) {
  PIPESCOPE_ASSIGN(const auto uses, segmentUses(source, catalog, run.executable));
  PIPESCOPE_ASSIGN(const std::vector<model::Placement> placements, rowsOfRun<model::Placement>(source, run));
  for (const model::Placement& placement : placements) {
    DeviceSums* device = sums.find(placement.device);
    const SegmentUse* use = uses.find(placement.segment);
    if (device != nullptr && use != nullptr) device->add(placement, *use);
  }
  PIPESCOPE_ASSIGN(const std::vector<model::Transfer> transfers, rowsOfRun<model::Transfer>(source, run));
  for (const model::Transfer& transfer : transfers) {
    for (const bool incoming : {false, true}) {
      const model::LaneId lane = incoming ? transfer.toLane : transfer.fromLane;
      if (DeviceSums* device = sums.find(catalog.deviceOf(lane)))
        device->add(transfer, incoming, catalog.roleOf(lane));
    }
  }
  PIPESCOPE_ASSIGN(const std::vector<model::Wait> waits, rowsOfRun<model::Wait>(source, run));
  for (const model::Wait& wait : waits) {
    if (DeviceSums* device = sums.find(wait.device)) device->add(wait);
  }
  return {};
}

}  // namespace

Result<Execution> execution(const model::ProfileSource& source, const Catalog& catalog,
                            model::ExecutableId executable) {
  Execution result;
  const model::Run* run = catalog.lastRunOf(executable);
  if (run == nullptr) return result;
  SumsByDevice sums;
  for (const model::Device& device : catalog.devices) sums.emplace_back(catalog, device, *run);
  PIPESCOPE_TRY(addRun(source, catalog, *run, sums));
  const auto places = devicePlaces(catalog, executable);
  std::set<std::int32_t> left;
  model::DeviceId id(0);
  for (DeviceSums& device : sums) {
    const DevicePlace& place = places[id];
    ++id.value;
    if (place.replica > 0 && device.unused()) {
      left.insert(place.replica);
      continue;
    }
    result.devices.push_back(device.finish());
  }
  result.replicasNotRecorded = static_cast<int>(left.size());
  result.total = run->end - run->start;
  result.seconds = base::toSeconds(result.total, catalog.timebase({}));
  result.samples = run->samples;
  if (result.seconds > 0) result.samplesPerSecond = static_cast<double>(run->samples) / result.seconds;
  return result;
}

}  // namespace pipescope::analysis
