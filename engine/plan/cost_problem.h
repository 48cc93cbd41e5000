#pragma once
// A row of layers with given costs, the devices that they are to be divided among, and what a plan of them
// costs on system `fixed`.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/compiler/fixed_compiler.h"
#include "engine/plan/layer_profiles/layer_profile.h"
#include "engine/plan/split_search.h"
#include "engine/schedules/schedule.h"
#include "profiler/base/result.h"

namespace pipescope::plan {

/// Request for a plan made from costs: its stages, and what it may use.
struct CostRequest {
  int stages = 2;
  /// Micro-batches of a weight update. 0: an endless stream, of which only the slowest stage counts.
  int microBatches = 0;
  std::string schedule = "1f1b";  ///< schedule of the micro-batches
  int chunks = 0;                 ///< stages on each device; 0: as the schedule wants it
  double bandwidth = 0;           ///< bytes per second between neighbouring stages; 0: copies take no time
  std::int64_t memory = 0;        ///< bytes of a device; 0: no limit
};

/// The layers as whole numbers, so that sums are exact: times in nanoseconds.
struct CostProblem {
  std::vector<std::int64_t> forward, backward;        ///< costs of each layer in ns
  std::vector<std::int64_t> activations, parameters;  ///< bytes of each layer
  std::vector<std::int64_t> crossing;                 ///< bytes that cross each cut; 0 before the first layer
  CostRequest request;
  std::size_t layers() const { return forward.size(); }
};

/// Makes whole numbers of measured costs. Refused: more stages than layers, and costs whose sum has no place
/// in a clock.
base::Result<CostProblem> costProblem(const LayerProfile& profile, const CostRequest& request);

/// Costs of one stage of a split.
struct StageCost {
  std::size_t first = 0, count = 0;  ///< layers
  int place = 0;
  std::int64_t forward = 0, backward = 0;        ///< ns for a micro-batch
  std::int64_t exchange = 0;                     ///< ns: the copies at both ends, in both directions
  std::int64_t activations = 0, parameters = 0;  ///< bytes
  std::int64_t sends = 0;                        ///< bytes to the next stage
  std::int64_t held = 1;                         ///< micro-batches whose activations it keeps at once
  std::int64_t time() const { return forward + backward + exchange; }
  /// Weights, their gradients, and the activations of the micro-batches that are under way.
  std::int64_t memory() const { return 2 * parameters + held * activations; }
};

/// Computes the costs of splits of one problem.
class CostModel {
 public:
  /// Gives the errors of the schedule.
  static base::Result<CostModel> make(const CostProblem& problem);

  const CostProblem& problem() const { return problem_; }
  StageCost stage(std::size_t index, std::size_t first, std::size_t end) const;
  std::vector<StageCost> stages(const Cuts& cuts) const;
  std::size_t devices() const { return devices_; }
  /// Nanoseconds of the copies over a cut for a micro-batch, in both directions.
  std::int64_t copies(std::size_t cut) const { return 2 * exchangeTicks(cut); }
  /// Bytes that the fullest device lacks. 0: all fit.
  std::int64_t missing(const std::vector<StageCost>& stages) const;
  /// The objective: missing bytes, then nanoseconds of the longest stage, or of a weight update as the
  /// emulator runs it.
  Value value(const Cuts& cuts) const;
  /// A value that no plan with these cuts is below. It is quick to compute.
  Value bound(const Cuts& cuts) const;
  /// The run on system `fixed` whose time is the value; one unit is a millisecond.
  compile::FixedRun run(const Cuts& cuts) const;

 private:
  explicit CostModel(const CostProblem& problem) : problem_(problem) {}
  /// Number of micro-batches that each stage holds at one time.
  using Moment = std::map<std::size_t, std::int64_t>;
  base::Status laySchedule();
  std::vector<Moment> heldBy(const std::vector<schedules::Task>& tasks) const;
  std::int64_t exchangeTicks(std::size_t cut) const;

  const CostProblem& problem_;
  std::size_t devices_ = 0;
  // Places and held micro-batches by stage, pipe by pipe if the schedule has several.
  std::vector<int> placeOfStage_;
  std::vector<std::int64_t> held_;
  std::vector<std::vector<Moment>> heldTogether_;  ///< one for each device; empty for a device with one stage
  int pipes_ = 1;
  bool splitsBackward_ = false;
  std::vector<std::int64_t> forward_, backward_, activations_, parameters_;  ///< sums over the layers before
};

}  // namespace pipescope::plan
