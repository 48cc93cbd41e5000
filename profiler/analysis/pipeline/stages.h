#pragma once
// Finds which stage limits the pipeline: cost per stage and pass, imbalance, bubble, and three lost times.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "profiler/analysis/catalog.h"

namespace pipescope::analysis {

struct Memory;

/// An operation that costs time in a stage, all passes together.
struct StageOperation {
  std::string name, kind;
  model::Pass pass = model::Pass::forward;
  double ticksPerMicroBatch = 0;
  double share = 0;  ///< of the stage's busy ticks per micro-batch
};

struct StageMemory {
  Bytes alwaysLive;             ///< sum over units
  Bytes peakNotAlwaysLive;      ///< largest over program steps, sum over units
  Bytes stash;                  ///< part of always live
  std::int64_t worstUnit = -1;  ///< tile that is fullest; −1: the device has no units
  Bytes worstUnitBytes;         ///< including gaps
  Bytes freeBytes;              ///< capacity of the worst unit − its bytes; negative: does not fit
};

struct StageReport {
  int index = 0, device = 0;
  std::string deviceName, blocks;
  /// Ticks per micro-batch (update: per iteration, with loads and stores around it), mean over the run.
  double forward = 0, recompute = 0, backward = 0, weightGradient = 0, update = 0, hostIn = 0, hostOut = 0;
  double busy = 0;                           ///< forward + recompute + backward + weightGradient
  double occupied = 0;                       ///< busy + hostIn + hostOut
  double share = 0;                          ///< busy ÷ Σ busy over stages
  double ratioToSlowest = 0;                 ///< busy ÷ the largest busy
  std::map<model::WaitCause, double> waits;  ///< ticks per iteration, by cause
  std::int64_t stashEntries = 0;
  std::optional<StageMemory> memory;  ///< of the stage's device; none where no memory was recorded
};

/// Where the time of one iteration goes: all in ticks, mean over the run's iterations. An imbalance below 0
/// is possible: a device with many short stages would need longer if each of its stages took the mean.
struct LostTime {
  double step = 0;                ///< from one iteration's start to the next one's start
  double useful = 0;              ///< G · mean(F+B)
  double fillAndDrain = 0;        ///< T(mean) − G·mean
  double imbalance = 0;           ///< T(actual) − T(every stage at the mean), both without exchange
  double exchangeUpdateHost = 0;  ///< the rest: exchange + sync + update + host
};

struct BoundaryReport {
  int fromStage = 0, toStage = 0;
  model::TransferKind kind = model::TransferKind::activation;
  std::string tensor, shape;
  Bytes bytes;
  Ticks ticks;
};

struct StagesReport {
  std::int64_t clockHz = 0;
  std::int64_t microBatches = 0;
  double imbalance = 0, imbalanceForward = 0, imbalanceBackward = 0;
  double bubbleFraction = 0;
  double bubbleRampUp = 0, bubbleSteady = 0, bubbleRampDown = 0;  ///< parts of bubbleFraction; add up to it
  /// Part of the bubble in which devices exchange data or synchronise.
  double exchangeShareOfBubble = 0;
  int slowestStage = -1;   ///< the stage with the largest busy; −1: nothing has run
  int limitingStage = -1;  ///< the stage with the largest occupied; −1: nothing has run
  LostTime lost;
  std::vector<StageReport> stages;
  std::vector<StageOperation> slowestOperations;  ///< of the slowest stage, largest first, at most ten
  std::vector<BoundaryReport> boundaries;

  /// Null: nothing has run.
  const StageReport* slowest() const { return slowestStage < 0 ? nullptr : &stages[at(slowestStage)]; }
  const StageReport* limiting() const { return limitingStage < 0 ? nullptr : &stages[at(limitingStage)]; }

 private:
  static std::size_t at(int stage) { return static_cast<std::size_t>(stage); }
};

/// Report over the executable's last run. `memory` is the executable's memory.
Result<StagesReport> stagesReport(const model::ProfileSource& source, const Catalog& catalog,
                                  model::ExecutableId executable, const Memory& memory);
/// As above; reads the executable's memory itself.
Result<StagesReport> stagesReport(const model::ProfileSource& source, const Catalog& catalog,
                                  model::ExecutableId executable);

}  // namespace pipescope::analysis
