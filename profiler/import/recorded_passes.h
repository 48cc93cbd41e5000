#pragma once
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "profiler/model/rows.h"
#include "profiler/record/recorder.h"

namespace pipescope::importing {

/// A pass of a stage, as a trace recorded it.
struct RecordedPass {
  model::DeviceId device;
  model::LaneId lane;
  base::Ticks start, end;
  model::Pass pass = model::Pass::forward;
  std::int32_t stage = -1, microBatch = -1;
  std::optional<std::int64_t> step;
  std::string replica, name;
  std::string group = {};         ///< of a collective: the same for all its members
  model::ProgramId program = {};  ///< what the pass is called; none: it gets no step
  model::StepKind kind = model::StepKind::compute;
};

/// How many of the recognised messages and collectives found their counterparts.
struct PassCoverage {
  std::int64_t messages = 0, pairedMessages = 0;
  std::int64_t collectives = 0, matchedCollectives = 0;
};

/// A training step of a process.
struct RecordedStep {
  model::DeviceId device;
  base::Ticks start, end;
  std::int64_t step = 0;
};

/// Gives each pass without a step the step of its device that encloses it.
void assignSteps(std::vector<RecordedPass>& passes, const std::vector<RecordedStep>& steps);

/// Collects the passes of all traces and writes what they say of the pipeline: executable, stages,
/// placements, and the gaps of each device with their causes.
class RecordedPasses {
 public:
  void add(RecordedPass pass) { passes_.push_back(std::move(pass)); }
  void add(RecordedStep step) { steps_.push_back(step); }
  /// Adds one side of a message: pass forward for activations, backward for gradients; its stage is that of
  /// the worker.
  void addMessage(RecordedPass side, bool sends) { (sends ? sends_ : receives_).push_back(std::move(side)); }

  /// Writes all rows, the executable first. Its id is 0, also where nothing was recognised.
  void write(record::Recorder& recorder);
  /// Valid after write().
  const PassCoverage& coverage() const { return coverage_; }

 private:
  /// Replica, iteration, micro-batch, stage, pass.
  using Key = std::tuple<std::int32_t, std::int32_t, std::int32_t, std::int32_t, model::Pass>;
  void numberIterations();
  std::int32_t iterationOf(const RecordedPass& pass) const;
  Key keyOf(const RecordedPass& pass) const;
  void indexPasses();
  void assignStages();
  void numberReplicas();
  void writeExecutable(record::Recorder& recorder) const;
  void writePlacements(record::Recorder& recorder);
  void writeWaits(record::Recorder& recorder);
  void writeTransfers(record::Recorder& recorder);
  void addMessages(std::vector<model::Transfer>& transfers);
  void addCollectives(std::vector<model::Transfer>& transfers);
  std::map<model::DeviceId, std::vector<std::size_t>> occupyingPasses() const;
  void noteLastBefore(const std::vector<std::size_t>& members,
                      const std::map<model::DeviceId, std::vector<std::size_t>>& byDevice);
  model::PlacementId placementOf(std::size_t pass) const {
    return model::PlacementId(static_cast<std::int64_t>(pass) + firstPlacement_);
  }

  std::vector<RecordedPass> passes_;
  std::vector<RecordedPass> sends_, receives_;
  std::vector<RecordedStep> steps_;
  PassCoverage coverage_;
  std::map<std::int64_t, std::int32_t> iterationNumbers_;  // by step
  std::map<std::string, std::int32_t> replicaNumbers_;
  std::map<Key, std::size_t> made_;  // the pass of a micro-batch
  /// Of a collective, by its index: the pass that ended last before it, over all its ranks.
  std::map<std::ptrdiff_t, std::size_t> lastBefore_;
  std::vector<std::int32_t> iterations_, replicas_;  // of each pass
  std::int32_t stages_ = 0, replicaCount_ = 0;
  std::int64_t firstPlacement_ = 0;  // id of the placement of passes_[0]
};

}  // namespace pipescope::importing
