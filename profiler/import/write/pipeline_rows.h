#pragma once
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "profiler/import/recognise/kernel_collectives.h"
#include "profiler/import/recognise/recorded_pass.h"
#include "profiler/import/recognise/thread_devices.h"
#include "profiler/import/write/recorded_waits.h"
#include "profiler/model/rows.h"
#include "profiler/record/recorder.h"

namespace pipescope::importing {

/// Numbers of recognised messages and collectives, and of those that found their counterparts.
struct PassCoverage {
  std::int64_t messages = 0, pairedMessages = 0;
  /// Messages that were left out: all, if there are too many to relate them to passes.
  std::int64_t leftOutMessages = 0;
  std::int64_t inferredMessages = 0;  ///< sides whose pass the trace does not state
  std::int64_t inferredStages = 0;    ///< passes whose stage the trace does not state
  std::int64_t unplacedPasses = 0;    ///< passes whose stage nobody knows, because traces are missing
  std::int64_t proposedPasses = 0;    ///< unplaced passes that no rule recognised
  std::int64_t inferredChunks = 0;    ///< passes whose chunk of the model the trace does not state
  std::int64_t dividedPasses = 0;     ///< passes that share the time of one event with others
  std::int64_t inferredSteps = 0;     ///< training steps that no trace marks
  bool stepsUnknown = false;          ///< nobody knows which training step passes belong to
  std::int64_t collectives = 0, matchedCollectives = 0;
};

/// Collects the passes of all traces and writes what they say of the pipeline: executable, stages,
/// placements, and the gaps of each device with their causes.
class PipelineRows {
 public:
  /// Events that were recognised in all traces.
  RecordedEvents& events() { return events_; }
  /// The lane on which passes of a device are drawn.
  void setLane(model::DeviceId device, model::LaneId lane) { lanes_[device] = lane; }
  /// Names of devices, and of the threads of hosts that lanes belong to.
  NamedPlaces& places() { return places_; }
  /// Times of devices of different groups cannot be compared, because their clocks have nothing in common.
  void setClockGroup(model::DeviceId device, std::size_t group) { clockGroups_[device] = group; }
  std::size_t clockGroupOf(model::DeviceId device) const {
    const auto group = clockGroups_.find(device);
    return group == clockGroups_.end() ? 0 : group->second;
  }
  /// Adds a collective that is a kernel and no pass. Waits are for it, if it is not part of a pass.
  void addKernelCollective(const std::string& group, const CollectiveMember& member) {
    kernelCollectives_.add(group, member);
  }

  /// Writes all rows, the executable first. Its id is 0, also where nothing was recognised.
  base::Status write(record::Recorder& recorder);
  /// Makes devices of threads (thread_devices.h). To be called once, before write().
  void splitThreads(
      const std::function<model::DeviceId(const std::string& name, model::DeviceId process)>& addDevice) {
    importing::splitThreads(events_, places_, addDevice);
  }
  /// Valid after write().
  const PassCoverage& coverage() const { return coverage_; }
  /// Number of devices that compute a stage. Valid after write().
  std::int64_t devicesWithStage() const;

 private:
  /// Replica, iteration, micro-batch, stage, pass.
  using Key = std::tuple<std::int32_t, std::int32_t, std::int32_t, std::int32_t, model::Pass>;
  void completeProposed(record::Recorder& recorder);
  void numberIterations();
  void assignLanes();
  std::int32_t iterationOf(const RecordedPass& pass) const;
  Key keyOf(const RecordedPass& pass) const;
  void indexPasses();
  void assignStages();
  void numberReplicas();
  void numberRanks();
  std::int32_t copyOf(const RecordedPass& pass) const;
  void writeExecutable(record::Recorder& recorder) const;
  base::Status writePlacements(record::Recorder& recorder);
  static void writeStep(const RecordedPass& pass, model::SegmentId segment, record::Recorder& recorder);
  std::map<std::pair<model::DeviceId, std::int32_t>, std::int32_t> chunksOfStages() const;
  base::Status writeTransfers(record::Recorder& recorder);
  void addMessages(std::vector<model::Transfer>& transfers);
  std::vector<PassInput> passesOfInputs() const;
  void addCollectives(std::vector<model::Transfer>& transfers);
  std::map<model::DeviceId, std::vector<std::size_t>> occupyingPasses() const;
  using PassesByDevice = std::map<model::DeviceId, std::vector<std::size_t>>;
  std::optional<std::size_t> lastBefore(const std::vector<CollectiveMember>& members,
                                        const PassesByDevice& byDevice) const;
  bool isPartOfPass(const CollectiveMember& member, const PassesByDevice& byDevice) const;
  std::vector<RecordedCollective> takeCollectives();
  model::PlacementId placementOf(std::size_t pass) const {
    return model::PlacementId(static_cast<std::int64_t>(pass) + firstPlacement_);
  }

  RecordedEvents events_;
  std::vector<RecordedPass>& passes_ = events_.passes;
  std::map<model::DeviceId, model::LaneId> lanes_;
  std::map<model::DeviceId, std::size_t> clockGroups_;
  NamedPlaces places_;
  KernelCollectives kernelCollectives_;
  PassCoverage coverage_;
  std::map<std::int64_t, std::int32_t> iterationNumbers_;  // keyed by step
  std::map<std::string, std::int32_t> replicaNumbers_;
  std::map<PlaceRank, std::int32_t> rankNumbers_;
  std::map<model::DeviceId, PlaceRank> rankOfDevice_;
  std::map<Key, std::size_t> made_;  // the pass of a micro-batch
  /// The message that brings the input of a pass: indices of its send, if that is known, and its receive.
  std::map<Key, std::pair<std::optional<std::size_t>, std::size_t>> inputs_;
  /// The pass before a collective of the rank that was last to arrive, and when that was; keyed by its index.
  std::map<std::ptrdiff_t, std::pair<std::size_t, base::Ticks>> lastBefore_;
  std::vector<std::int32_t> iterations_, replicas_;  // iterations and replicas of each pass
  std::int32_t stages_ = 0, replicaCount_ = 0, width_ = 1;
  std::int64_t firstPlacement_ = 0;  // id of the placement of passes_[0]
};

}  // namespace pipescope::importing
