#pragma once
#include <map>
#include <optional>
#include <string>
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

  /// Writes all rows, the executable first. Its id is 0, also where nothing was recognised.
  void write(record::Recorder& recorder);

 private:
  void numberIterations();
  void assignStages();
  void numberReplicas();
  void writeExecutable(record::Recorder& recorder) const;
  void writePlacements(record::Recorder& recorder);
  void writeWaits(record::Recorder& recorder);

  std::vector<RecordedPass> passes_;
  std::vector<RecordedStep> steps_;
  std::vector<std::int32_t> iterations_, replicas_;  // of each pass
  std::int32_t stages_ = 0, replicaCount_ = 0;
  std::int64_t firstPlacement_ = 0;  // id of the placement of passes_[0]
};

}  // namespace pipescope::importing
