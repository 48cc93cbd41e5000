#pragma once
// Finds which stage limits the pipeline: cost per stage and pass, imbalance, bubble, and three lost times.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "profiler/analysis/catalog.h"
#include "profiler/analysis/pipeline/bubble.h"
#include "profiler/analysis/pipeline/stage_operations.h"

namespace pipescope::analysis {

struct Memory;

/// Stages whose times differ by less than this share are called equal.
inline constexpr double kEqualStages = 0.01;

struct StageMemory {
  Bytes alwaysLive;            ///< sum over units
  Bytes peakNotAlwaysLive;     ///< largest over program steps, sum over units
  Bytes stash;                 ///< part of always live
  std::int64_t worstUnit = 0;  ///< unit that holds most bytes
  Bytes worstUnitBytes;        ///< bytes used on it, without gaps
  Bytes worstSpan;             ///< largest address span of a unit: its bytes with gaps; decides what fits
  Bytes freeBytes;             ///< capacity of a unit − worstUnitBytes; negative: does not fit
};

struct StageReport {
  int index = 0, device = 0;
  std::string deviceName, blocks;
  /// Ticks per micro-batch (update: per iteration, with loads and stores around it), mean over the run.
  double forward = 0, recompute = 0, backward = 0, weightGradient = 0, update = 0, hostIn = 0, hostOut = 0;
  double remote = 0;      ///< loads and stores of remote buffers that belong to a micro-batch
  double collective = 0;  ///< collectives within passes, such as gathers of divided weights
  double exchange = 0;    ///< transfers of its device that keep it from computing, divided between its stages
  double busy = 0;        ///< forward + recompute + backward + weightGradient
  /// Time in which a pass, a collective within it, a host copy, a remote buffer's load or store, or the
  /// exchange keeps the device busy.
  double occupied = 0;
  bool limits = false;  ///< occupied is the largest, or equal to it (kEqualStages)
  /// False if the run has this stage, and a recorded trace holds none of its passes. The stage has no figures
  /// then, and no device (−1).
  bool recorded = true;
  double share = 0;                          ///< busy ÷ Σ busy over stages
  double ratioToSlowest = 0;                 ///< busy ÷ the largest busy
  std::map<model::WaitCause, double> waits;  ///< ticks per iteration, by cause
  std::int64_t stashEntries = 0;
  std::optional<StageMemory> memory;       ///< memory of the stage's device; none if no memory was recorded
  std::vector<StageOperation> operations;  ///< copies and exchange too, largest first, at most ten
  /// Ticks per micro-batch of all operations of its passes, by kind of operator. Empty if they were not
  /// recorded.
  std::map<std::string, double> ticksOfKinds;
};

/// Parts of the time of one iteration: all in ticks, mean over the run's iterations. An imbalance below 0 is
/// possible: a device with many short stages would need longer if each of its stages took the mean.
struct LostTime {
  /// False if only `step` is known, because the passes that a trace recorded cannot be replayed within it.
  /// Some are missing then, or stages, micro-batches or clocks were not recognised rightly.
  bool replayed = true;
  double step = 0;          ///< step time: mean length of an iteration
  double useful = 0;        ///< G · mean(F+B)
  double fillAndDrain = 0;  ///< T(mean) − G·mean
  double imbalance = 0;     ///< T(actual) − T(every stage at the mean), both without exchange
  /// The rest: exchange + sync + update + host, and waits of blocks whose passes start together (DualPipe).
  double exchangeUpdateHost = 0;
};

struct BoundaryReport {
  int fromStage = 0, toStage = 0;
  model::TransferKind kind = model::TransferKind::activation;
  std::string tensor, shape;
  Bytes bytes;
  Ticks ticks;
};

/// A stage that takes longer in another replica of a recorded run than in the first one, whose figures the
/// report shows.
struct SlowReplica {
  int stage = 0, replica = 0;
  int rank = 0;  ///< within its place
  std::string deviceName;
  double ratio = 0;  ///< busy ticks ÷ those of the first replica
};

struct StagesReport {
  std::int64_t clockHz = 0;
  std::int64_t microBatches = 0;         ///< of one iteration
  std::int64_t microBatchesOfStage = 0;  ///< those of one pipe: all of them go through each of its stages
  model::ScheduleKind schedule = model::ScheduleKind::dependency;
  /// Largest ÷ mean over devices; none if the passes take no time.
  std::optional<double> imbalance, imbalanceForward, imbalanceBackward;
  Bubble bubble;           ///< mean over the run's iterations
  double flush = 0;        ///< ticks from the first forward's start to the last backward's end, mean
  int slowestStage = -1;   ///< the stage that computes longest: the largest busy; −1: nothing has run
  int limitingStage = -1;  ///< the stage with the largest occupied; −1: nothing has run
  LostTime lost;
  /// Stages of which a recorded run has no passes. The figures of the other stages are known then, and what
  /// compares these; the limiting stage, the bubble, the flush and the step time need all stages and are not.
  std::vector<int> missing;
  /// False if no pass of a recorded run lies within an iteration: nobody knows its steps, so that the bubble,
  /// the flush, the step time and what is given per iteration are not known.
  bool stepsKnown = true;
  /// False if passes of a recorded run do not state their micro-batch: what a stage takes for one is not
  /// known, only what it takes compared with other stages.
  bool microBatchesKnown = true;
  std::optional<SlowReplica> slowReplica;  ///< the slowest one; none: the replicas are alike
  std::vector<StageReport> stages;
  std::vector<BoundaryReport> boundaries;

  /// Stage that computes longest; null if nothing has run, or if the figure needs stages that are missing.
  const StageReport* slowest() const { return slowestStage < 0 ? nullptr : &stages[at(slowestStage)]; }
  const StageReport* limiting() const { return limitingStage < 0 ? nullptr : &stages[at(limitingStage)]; }

 private:
  static std::size_t at(int stage) { return static_cast<std::size_t>(stage); }
};

/// Report over the executable's last run. `memory` is the executable's memory.
Result<StagesReport> stagesReport(const model::ProfileSource& source, const Catalog& catalog,
                                  model::ExecutableId executable, const Memory& memory);
/// Does the same, but reads the executable's memory itself.
Result<StagesReport> stagesReport(const model::ProfileSource& source, const Catalog& catalog,
                                  model::ExecutableId executable);

}  // namespace pipescope::analysis
